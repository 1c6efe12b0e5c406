import { randomBytes } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { freePort } from '@agentlens/testing';
import { ServiceProcess } from '../../../harness/service-process.ts';
import type { Stage } from '../../stage.ts';

const ROOT = fileURLToPath(new URL('../../../../..', import.meta.url));

/** Starts a second gateway beside the platform's own, which decides what it can and asks the same evaluator otherwise. */
export function startDecidingGateway(stage: Stage): Promise<ServiceProcess> {
  return startGateway(stage, { name: 'ingest-deciding', path: 'gateway' });
}

interface GatewayOptions {
  readonly name: string;
  readonly path: 'gateway' | 'evaluator';
}

/** Starts another gateway of the platform. */
export async function startGateway({ stack }: Stage, { name, path }: GatewayOptions): Promise<ServiceProcess> {
  const port = await freePort();
  const gateway = new ServiceProcess({
    name,
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
