import type { Database } from '@agentlens/database';
import {
  getFeatures,
  getOpenApi,
  getServiceHealth,
  getSystemLag,
  listDeadLetters,
  OPERATIONS,
  PROBE_OPERATIONS,
  type RequestOf,
} from '@agentlens/operations';
import { type Caller, CurrentCaller, FromRequest, ProblemException, port, Serves } from '@agentlens/platform';
import { Controller, Inject } from '@nestjs/common';
import { openApiDocument } from '../openapi/openapi-document.ts';
import { VERSION } from '../service/version.ts';
import { SystemReads } from './system.reads.ts';

@Controller()
export class SystemController {
  constructor(private readonly system: SystemReads) {}

  @Serves(getSystemLag)
  lag() {
    return this.system.lag();
  }

  @Serves(listDeadLetters)
  async deadLetters(@CurrentCaller() caller: Caller, @FromRequest() { query }: RequestOf<typeof listDeadLetters>) {
    if (!caller.scopes.includes('platform')) return this.system.deadLetters(query, caller.tenantId);
    if (query.content !== true) return this.system.deadLetters(query);
    throw new ProblemException(403, 'The scope "platform" cannot read data of tenants', {
      hint: 'Leave "content" out, or use an admin key of the tenant.',
    });
  }
}

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
