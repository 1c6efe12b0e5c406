import { randomBytes } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import type { DecisionPath } from '@agentlens/contracts';
import { freePort } from '@agentlens/testing';
import { ServiceProcess } from '../../../harness/service-process.ts';
import type { Stage } from '../../stage.ts';

const ROOT = fileURLToPath(new URL('../../../../..', import.meta.url));

/** Starts a second gateway beside the platform's own, with the same evaluator. */
export async function startGateway({ stack }: Stage, path: DecisionPath): Promise<ServiceProcess> {
  const port = await freePort();
  const gateway = new ServiceProcess({
    name: `ingest-${path}`,
    entry: `${ROOT}services/ingest/dist/main.js`,
    port,
    cwd: ROOT,
    env: {
      AGENTLENS_DECISION_PATH: path,
      DATABASE_URL: stack.postgresUrl,
      NATS_URL: stack.natsUrl ?? '',
      REDIS_URL: stack.redisUrl ?? '',
      AGENTLENS_SECRET_KEY: randomBytes(32).toString('base64'),
      AGENTLENS_KEY_EVENTS_PER_SECOND: '10000000',
      AGENTLENS_LOG_LEVEL: 'warn',
      AGENTLENS_HTTP_HOST: '127.0.0.1',
      AGENTLENS_HTTP_PORT: String(port),
    },
  });
  await gateway.start();
  return gateway;
}
