import { ActionDispatcherModule } from '@agentlens/action-dispatcher';
import { BacktesterModule } from '@agentlens/backtester';
import { migrate } from '@agentlens/database';
import { GuardrailEvaluatorModule } from '@agentlens/guardrail-evaluator';
import { IngestModule } from '@agentlens/ingest';
import { ModelGatewayModule } from '@agentlens/model-gateway';
import {
  createHttpApp,
  ensureBootstrapKey,
  listen,
  loadConfig,
  openPlatform,
  type Platform,
  type ServiceModule,
  type ServiceName,
  shutDown,
} from '@agentlens/platform';
import { QueryModule } from '@agentlens/query';
import { RunTrackingModule } from '@agentlens/run-tracking';
import { freshDatabase, startNats, startRedis } from '@agentlens/testing';
import { makeKey } from './embedded.ts';
import { budgetCountOf, ruleCountOf } from './loaded-settings.ts';
import type { PlatformUnderTest } from './platform-under-test.ts';

const SECRET_KEY = Buffer.alloc(32, 9).toString('base64');

const partsWith = (evaluators: number): [ServiceName, ServiceModule][] => [
  ['run-tracking', RunTrackingModule],
  ...Array.from({ length: evaluators }, (): [ServiceName, ServiceModule] => [
    'guardrail-evaluator',
    GuardrailEvaluatorModule,
  ]),
  ['action-dispatcher', ActionDispatcherModule],
  ['backtester', BacktesterModule],
  ['query', QueryModule],
  ['ingest', IngestModule],
  ['model-gateway', ModelGatewayModule],
];

interface Settings {
  readonly env?: Readonly<Record<string, string>>;
  readonly evaluators?: number;
}

interface Running {
  readonly name: ServiceName;
  readonly platform: Platform;
  readonly address: string;
  stop(): Promise<void>;
}

/**
 * Every service as its own application with its own connections to real NATS, Redis and Postgres. By default two
 * evaluators, so that nothing relies on being the only one.
 */
export async function startDistributed({ env: own = {}, evaluators = 2 }: Settings = {}): Promise<PlatformUnderTest> {
  const [nats, redis, database] = await Promise.all([startNats(), startRedis(), freshDatabase({ migrate })]);
  const env = {
    NATS_URL: nats.url,
    REDIS_URL: redis.url,
    DATABASE_URL: database.url,
    AGENTLENS_SECRET_KEY: SECRET_KEY,
    AGENTLENS_HTTP_HOST: '127.0.0.1',
    AGENTLENS_HTTP_PORT: '0',
    AGENTLENS_EGRESS_ALLOW: '127.0.0.1/32',
    AGENTLENS_LOG_LEVEL: 'error',
    ...own,
  };
  const stopServers = () => Promise.all([nats.stop(), redis.stop(), database.drop()]);
  const start = () => startParts(partsWith(evaluators), env);
  let running = await start().catch(async (error: unknown) => {
    await stopServers();
    throw error;
  });
  const adminKey = await ensureBootstrapKey(part(running, 'query').platform);
  if (adminKey === null) throw new Error('the first start makes a key');
  const stop = async () => {
    await Promise.all(running.map((one) => one.stop()));
  };
  return {
    adminKey,
    addressFor: (method, path) => part(running, findService(method, path)).address,
    get edges() {
      return [part(running, 'ingest').address, part(running, 'query').address];
    },
    get bus() {
      return part(running, 'query').platform.bus;
    },
    ruleCounts: () => Promise.all(evaluatorsOf(running).map(ruleCountOf)),
    budgetCounts: () => Promise.all(evaluatorsOf(running).map(budgetCountOf)),
    keyOf: (tenantId, ...scopes) => makeKey(part(running, 'query').platform, tenantId, scopes),
    restart: async () => {
      await stop();
      running = await start();
    },
    stop: async () => {
      await stop();
      await stopServers();
    },
  };
}

/**
 * Starts all parts or none, because a part that is left running would fail later suites. They start one after the
 * other: they share a process, and while one is being built, NATS answers to another are not read in time.
 */
async function startParts(
  parts: readonly [ServiceName, ServiceModule][],
  env: Readonly<Record<string, string>>,
): Promise<readonly Running[]> {
  const running: Running[] = [];
  try {
    for (const [name, module] of parts) running.push(await startPart(name, module, env));
    return running;
  } catch (error) {
    await Promise.all(running.map((part) => part.stop()));
    throw error;
  }
}

async function startPart(
  name: ServiceName,
  module: ServiceModule,
  env: Readonly<Record<string, string>>,
): Promise<Running> {
  const platform = await openPlatform(loadConfig(name, env));
  const app = await createHttpApp(platform, [module.register(platform)]);
  const address = await listen(app, platform).catch(async (error: unknown) => {
    await shutDown(app, platform);
    throw error;
  });
  return { name, platform, address, stop: () => shutDown(app, platform) };
}

function part(running: readonly Running[], name: ServiceName): Running {
  const found = running.find((one) => one.name === name);
  if (found === undefined) throw new Error(`no ${name}`);
  return found;
}

function evaluatorsOf(running: readonly Running[]): Platform[] {
  return running.flatMap(({ name, platform }) => (name === 'guardrail-evaluator' ? [platform] : []));
}

function findService(method: string, path: string): ServiceName {
  if (path.startsWith('/gw/')) return 'model-gateway';
  return path.startsWith('/v1/') || (method === 'POST' && /^\/api\/events(\?|$)/.test(path)) ? 'ingest' : 'query';
}
