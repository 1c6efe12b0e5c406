import type { Database } from '@agentlens/database';
import { getFeatures, getOpenApi, getServiceHealth, OPERATIONS, PROBE_OPERATIONS } from '@agentlens/operations';
import { port, ProblemException, Serves } from '@agentlens/platform';
import { Controller, Inject } from '@nestjs/common';
import { openApiDocument } from '../openapi/openapi-document.ts';
import { VERSION } from './version.ts';

const FEATURES = { guardrails: true, stream: true, webhooks: true, hashChain: false, alerts: true, embeddings: false };

@Controller()
export class ServiceController {
  private readonly document = openApiDocument([...OPERATIONS, ...PROBE_OPERATIONS], VERSION);

  constructor(@Inject(port('database')) private readonly database: Database) {}

  @Serves(getServiceHealth)
  async health() {
    const startedAt = performance.now();
    const ok = await this.database.ping().then(
      () => true,
      () => false,
    );
    const db = { ok, latencyMs: Math.round((performance.now() - startedAt) * 10) / 10 };
    if (ok) return { status: 'ok', version: VERSION, db };
    throw new ProblemException(503, 'The database does not answer', {
      extra: { status: 'degraded', version: VERSION, db },
    });
  }

  @Serves(getFeatures)
  features() {
    return { features: FEATURES };
  }

  @Serves(getOpenApi)
  openApi() {
    return this.document;
  }
}
