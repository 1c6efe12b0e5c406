import { randomBytes } from 'node:crypto';
import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { keysChanged } from '@agentlens/contracts';
import { type Database, grantLogins, migrate, startEmbeddedPostgres } from '@agentlens/database';
import { connectNatsBus, createMemoryBus, type EventBus, retry } from '@agentlens/messaging';
import { connectRedisState, createMemoryState, type MemoryState, type StateStores } from '@agentlens/state';
import type { Logger } from 'pino';
import { assemblePlatform } from './assemble-platform.ts';
import { bootstrapKey, bootstrapPlatformKey } from './auth/bootstrap-key.ts';
import type { PlatformConfig } from './config/config.ts';
import { isDatabaseAway } from './http/database-away.ts';
import { createLogger } from './log/create-logger.ts';
import type { Platform } from './platform.ts';

/**
 * Memory state that is saved at shutdown and restored at the next start, so that a restart keeps calls and counters of
 * a run. The file is deleted after reading: after a crash it would be stale.
 */
export async function keptMemoryState(file: string, logger: Logger): Promise<StateStores> {
  const state = await stateFrom(file, logger);
  return { ...state, close: () => state.close().then(() => keep(file, state, logger)) };
}

async function stateFrom(file: string, logger: Logger): Promise<MemoryState> {
  try {
    const snapshot = await readFile(file);
    await rm(file);
    return createMemoryState({ snapshot });
  } catch (error) {
    if (!isAbsent(error)) logger.warn({ err: error, file }, 'restoring state from before the restart failed');
    return createMemoryState();
  }
}

async function keep(file: string, state: MemoryState, logger: Logger): Promise<void> {
  try {
    await mkdir(dirname(file), { recursive: true });
    await writeFile(`${file}.new`, state.snapshot(), { mode: 0o600 });
    await rename(`${file}.new`, file);
  } catch (error) {
    logger.warn({ err: error, file }, 'saving state for the next start failed');
  }
}

function isAbsent(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT';
}

const PRIVATE = 0o600;

/**
 * The configured keys, or one made at first start and kept beside the data. Losing that file means losing the secrets
 * of every action, so a backup of the data folder must hold it.
 */
export async function secretKeysOf(config: PlatformConfig): Promise<readonly string[]> {
  if (config.secretKeys !== undefined) return config.secretKeys;
  const file = join(config.dataDir, 'secret-key');
  await mkdir(config.dataDir, { recursive: true });
  try {
    // Exclusive: of two first starters, one key wins.
    await writeFile(file, `${randomBytes(32).toString('base64')}\n`, { mode: PRIVATE, flag: 'wx' });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
  return [(await readFile(file, 'utf8')).trim()];
}

/** A server that has just started may take seconds to accept connections. */
const FIRST_ANSWER_MS = 30_000;

/** Opens what the configuration names. If a part fails, closes those already opened. */
export async function openPlatform(config: PlatformConfig, logger: Logger = loggerOf(config)): Promise<Platform> {
  const opened = new Opened();
  try {
    const postgres = await openPostgres(config, logger);
    opened.add(postgres.stop);
    if (config.migrate) {
      await migrate(postgres.url);
      await grantLogins(postgres.url, config.databasePasswords);
    }
    const bus = await openBus(config, logger);
    opened.add(() => bus.close());
    const state = await openState(config, logger);
    opened.add(() => state.close());
    const secretKeys = await secretKeysOf(config);
    const platform = assemblePlatform({
      config,
      bus,
      state,
      databaseUrl: postgres.url,
      secretKeys,
      logger,
      afterClose: postgres.stop,
    });
    await bus.watch(keysChanged, { from: 'new' }, ({ value }) => platform.keys.forget(value.keyId));
    platform.health.add('bus', async () => ({ ok: bus.healthy() }));
    platform.health.add('state', async () => ({ ok: state.healthy() }));
    return platform;
  } catch (error) {
    await opened.closeAll();
    throw error;
  }
}

/**
 * Creates the first admin key if there is none. @returns the key if it was created by this call, which is the only time
 * it is shown
 */
export async function ensureBootstrapKey(platform: Platform): Promise<string | null> {
  return bootstrapKey(await answeringDatabase(platform), platform.clock, platform.config.bootstrapKey);
}

/** The same for the first key that can create tenants. */
export async function ensurePlatformKey(platform: Platform): Promise<string | null> {
  return bootstrapPlatformKey(await answeringDatabase(platform), platform.clock, platform.config.platformKey);
}

async function answeringDatabase(platform: Platform): Promise<Database> {
  const database = platform.database('query');
  const onFirstFailure = (error: unknown) =>
    platform.logger.warn({ err: error }, 'Postgres does not answer yet, will retry');
  // Retries only the ping: a created key whose answer was lost would be unknown.
  await retry({ isTransient: isDatabaseAway, forMs: FIRST_ANSWER_MS, onFirstFailure }, () => database.ping());
  return database;
}

function loggerOf(config: PlatformConfig): Logger {
  return createLogger({ name: config.service, level: config.logLevel, human: config.service === 'standalone' });
}

async function openPostgres(
  config: PlatformConfig,
  logger: Logger,
): Promise<{ readonly url: string; readonly stop: () => Promise<void> }> {
  if (config.database.kind === 'external') return { url: config.database.url, stop: async () => {} };
  return startEmbeddedPostgres({
    dataDir: join(config.dataDir, 'postgres'),
    log: (line) => logger.debug({ postgres: line }, 'postgres'),
    onLost: () => endForSupervisor(logger),
  });
}

/** Without its database the platform answers 503 only. A supervisor starts it again, and its database with it. */
function endForSupervisor(logger: Logger): void {
  logger.fatal('embedded database ended unexpectedly, the platform stops');
  process.exitCode = 1;
  process.kill(process.pid, 'SIGTERM');
}

async function openBus(config: PlatformConfig, logger: Logger): Promise<EventBus> {
  if (config.bus.kind === 'memory') return createMemoryBus({ logger });
  const { servers, replicas } = config.bus;
  // Services may not change streams.
  const ofStreams = config.migrate && replicas !== undefined ? { replicas } : {};
  return connectNatsBus({ servers, name: `agentlens-${config.service}`, logger, ...ofStreams });
}

async function openState(config: PlatformConfig, logger: Logger): Promise<StateStores> {
  if (config.state.kind === 'memory') {
    // Counters belong to their database: they are saved only if the database is embedded.
    return config.database.kind === 'external'
      ? createMemoryState()
      : keptMemoryState(join(config.dataDir, 'state.bin'), logger);
  }
  return connectRedisState({
    url: config.state.url,
    name: `agentlens-${config.service}`,
    onError: (error) => logger.warn({ err: error }, 'connection to Redis failed, will retry'),
  });
}

/** Cleanup steps, newest first. */
class Opened {
  readonly #closers: (() => Promise<unknown>)[] = [];

  add(close: () => Promise<unknown>): void {
    this.#closers.unshift(close);
  }

  async closeAll(): Promise<void> {
    for (const close of this.#closers) await close().catch(() => undefined);
  }
}
