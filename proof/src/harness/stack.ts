import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chmod, mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { freePort, startNats, startPostgres, startRedis, type TestServer } from '@agentlens/testing';
import { childrenOf } from './process-family.ts';
import { ServiceProcess } from './service-process.ts';

export const SERVICES = [
  'ingest',
  'run-tracking',
  'guardrail-evaluator',
  'action-dispatcher',
  'backtester',
  'query',
] as const;
export type StackService = (typeof SERVICES)[number];
export type ServerName = 'postgres' | 'nats' | 'redis';
export type StackShape = 'distributed' | 'standalone';

export interface StackOptions {
  readonly shape: StackShape;
  /** Checkout whose built services to run. Default: this one. */
  readonly root?: string;
  /** Number of processes per service. Default: 1. */
  readonly replicas?: Partial<Record<StackService, number>>;
  readonly env?: Readonly<Record<string, string>>;
  /** Per service, in addition to `env`. */
  readonly serviceEnv?: Partial<Record<StackService, Readonly<Record<string, string>>>>;
  /** Node options for every service, such as `--cpu-prof`. */
  readonly nodeOptions?: readonly string[];
  /** Further Postgres settings `name=value`. */
  readonly postgresSettings?: readonly string[];
  /**
   * Inserts something between the services and a server, such as a faulty proxy. Returns the address to use instead.
   */
  readonly between?: (server: ServerName, url: string) => Promise<string>;
  /** The same for each process, in addition to `between`. */
  readonly betweenEach?: (process: string, server: ServerName, url: string) => Promise<string>;
  /** Starts the NATS server to use, for example a cluster. Default: a single server. */
  readonly nats?: () => Promise<TestServer>;
}

export interface Stack {
  readonly shape: StackShape;
  readonly ingestUrl: string;
  readonly queryUrl: string;
  /** Admin key of tenant `default`. */
  readonly key: string;
  /** Seals stored secrets. A service that is started beside the platform needs the same. */
  readonly secretKey: string;
  /** Direct addresses, without proxies between the services and the servers. */
  readonly postgresUrl: string;
  readonly natsUrl: string | undefined;
  readonly redisUrl: string | undefined;
  readonly servers: Readonly<Partial<Record<ServerName, TestServer>>>;
  /** Process ids of servers that run as programs here. A server in a container has none. */
  readonly serverPids: Readonly<Partial<Record<ServerName, number>>>;
  readonly services: readonly ServiceProcess[];
  service(name: string): ServiceProcess;
  /** Milliseconds from spawn to ready, by process. */
  readonly startUpMs: Readonly<Record<string, number>>;
  /** Sends SIGTERM to every service, then stops the servers. */
  stop(): Promise<void>;
}

/** Durable as in production. */
const POSTGRES_SETTINGS = [
  'synchronous_commit=on',
  'fsync=on',
  'full_page_writes=on',
  'max_connections=200',
  'shared_buffers=512MB',
];
const HERE = fileURLToPath(new URL('../../..', import.meta.url));
const SETUP_DEADLINE_MS = 60_000;

/** Starts the whole platform over loopback with its own servers, in a temporary folder that is deleted with it. */
export async function startStack(options: StackOptions): Promise<Stack> {
  const root = options.root ?? HERE;
  const folder = await mkdtemp(join(tmpdir(), 'agentlens-proof-'));
  await chmod(folder, 0o711);
  const key = await newKey(root);
  const cleanups: (() => Promise<void>)[] = [() => rm(folder, { recursive: true, force: true })];
  const stop = async () => {
    const failures: unknown[] = [];
    // One failed cleanup must not leave the others running.
    for (const cleanup of cleanups.splice(0).reverse()) await cleanup().catch((error) => failures.push(error));
    if (failures.length > 0) throw failures[0];
  };
  try {
    return await assemble(options, root, folder, key, cleanups, stop);
  } catch (error) {
    await stop();
    throw error;
  }
}

async function assemble(
  options: StackOptions,
  root: string,
  folder: string,
  key: string,
  cleanups: (() => Promise<void>)[],
  stop: () => Promise<void>,
): Promise<Stack> {
  const distributed = options.shape === 'distributed';
  const serverPids: Partial<Record<ServerName, number>> = {};
  const opened = async (name: ServerName, start: () => Promise<TestServer>): Promise<TestServer> => {
    const before = new Set(childrenOf(process.pid));
    const server = await start();
    cleanups.push(() => server.stop());
    const pid = childrenOf(process.pid).find((child) => !before.has(child));
    if (pid !== undefined) serverPids[name] = pid;
    return server;
  };
  const postgres = await opened('postgres', () =>
    startPostgres({ settings: [...POSTGRES_SETTINGS, ...(options.postgresSettings ?? [])], durable: true }),
  );
  const nats = distributed
    ? await opened('nats', options.nats ?? (() => startNats({ durable: true, strictPings: true })))
    : undefined;
  const redis = distributed ? await opened('redis', () => startRedis()) : undefined;
  const between = options.between ?? ((_server: string, url: string) => Promise.resolve(url));
  const secretKey = randomBytes(32).toString('base64');
  const base: Record<string, string> = {
    DATABASE_URL: await between('postgres', postgres.url),
    AGENTLENS_SECRET_KEY: secretKey,
    AGENTLENS_BOOTSTRAP_KEY: key,
    AGENTLENS_EGRESS_ALLOW: '127.0.0.1/32',
    AGENTLENS_KEY_EVENTS_PER_SECOND: '10000000',
    AGENTLENS_LOG_LEVEL: 'warn',
    AGENTLENS_HTTP_HOST: '127.0.0.1',
    ...(nats ? { NATS_URL: await between('nats', nats.url) } : {}),
    ...(redis ? { REDIS_URL: await between('redis', redis.url) } : {}),
    ...options.env,
  };
  if (distributed) {
    await setUp(root, { ...base, DATABASE_URL: postgres.url, NATS_URL: nats?.url ?? '', REDIS_URL: redis?.url ?? '' });
  }

  const names = distributed ? SERVICES : (['standalone'] as const);
  const services: ServiceProcess[] = [];
  const startUpMs: Record<string, number> = {};
  cleanups.push(async () => {
    await Promise.all(services.map((service) => service.stop()));
  });
  for (const name of names) {
    const replicas = name === 'standalone' ? 1 : (options.replicas?.[name] ?? 1);
    for (let replica = 1; replica <= replicas; replica++) {
      const cwd = join(folder, `${name}-${replica}`);
      await mkdir(cwd);
      const own = name === 'standalone' ? {} : (options.serviceEnv?.[name] ?? {});
      const processName = replicas > 1 ? `${name}-${replica}` : name;
      const addresses = await addressesOf(processName, base, options.betweenEach);
      // Last and used at once, because another process may take a free port.
      const port = await freePort();
      const started = new ServiceProcess({
        name: processName,
        entry: join(root, 'services', name, 'dist', 'main.js'),
        port,
        cwd,
        nodeOptions: options.nodeOptions ?? [],
        env: {
          ...base,
          ...addresses,
          ...own,
          AGENTLENS_HTTP_PORT: String(port),
          AGENTLENS_DATA_DIR: join(cwd, 'data'),
        },
      });
      services.push(started);
      startUpMs[processName] = await started.start();
    }
  }

  const service = (name: string): ServiceProcess => {
    const found = services.find((candidate) => candidate.name === name || candidate.name === `${name}-1`);
    if (!found) throw new Error(`unknown process ${name}; known: ${services.map((one) => one.name).join(', ')}`);
    return found;
  };
  return {
    shape: options.shape,
    ingestUrl: service(distributed ? 'ingest' : 'standalone').url,
    queryUrl: service(distributed ? 'query' : 'standalone').url,
    key,
    secretKey,
    postgresUrl: postgres.url,
    natsUrl: nats?.url,
    redisUrl: redis?.url,
    serverPids,
    servers: { postgres, ...(nats ? { nats } : {}), ...(redis ? { redis } : {}) },
    services,
    service,
    startUpMs,
    stop,
  };
}

const ADDRESSES = { postgres: 'DATABASE_URL', nats: 'NATS_URL', redis: 'REDIS_URL' } as const;

/** Server addresses of one process, if they differ from the others. */
async function addressesOf(
  process: string,
  base: Readonly<Record<string, string>>,
  betweenEach: StackOptions['betweenEach'],
): Promise<Record<string, string>> {
  const addresses: Record<string, string> = {};
  if (betweenEach === undefined) return addresses;
  for (const server of Object.keys(ADDRESSES) as ServerName[]) {
    const url = base[ADDRESSES[server]];
    if (url !== undefined) addresses[ADDRESSES[server]] = await betweenEach(process, server, url);
  }
  return addresses;
}

async function newKey(root: string): Promise<string> {
  return (await runNode(join(root, 'libs/platform/dist/new-key.js'), {})).trim();
}

async function setUp(root: string, env: Readonly<Record<string, string>>): Promise<void> {
  await runNode(join(root, 'libs/platform/dist/setup.js'), env);
}

function runNode(entry: string, env: Readonly<Record<string, string>>): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [entry], {
      env: { PATH: process.env.PATH ?? '', ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: SETUP_DEADLINE_MS,
    });
    let out = '';
    let err = '';
    child.stdout.on('data', (chunk: Buffer) => {
      out += chunk.toString('utf8');
    });
    child.stderr.on('data', (chunk: Buffer) => {
      err += chunk.toString('utf8');
    });
    child.once('error', reject);
    child.once('exit', (code) => {
      if (code === 0) resolve(out);
      else reject(new Error(`${entry} failed (exit ${code}):\n${err}`));
    });
  });
}

/** The part of the body of `POST /api/guardrails` that is needed here. */
export interface HarnessRule {
  readonly name: string;
  readonly conditionType: string;
  readonly conditionConfig: object;
  readonly actionType: string;
  readonly actionConfig: object;
  readonly cooldownMinutes: number;
  readonly agentId?: string;
  readonly selector?: object;
  readonly dryRun?: boolean;
}
