import { createRequire } from 'node:module';
import type { Redis } from 'ioredis';
import { StateUnavailable } from '../state-unavailable.ts';
import { measured } from './call-metrics.ts';
import { type BinaryScripts, readScripts, type Scripts } from './scripts.ts';

const load = createRequire(import.meta.url);
/**
 * OpenTelemetry patches what CommonJS loads; an import would leave this client without spans. Loaded with the first
 * connection: one process with all services has none.
 */
const ioredis = () => load('ioredis') as typeof import('ioredis');

export interface RedisStateOptions {
  /** `redis://` or `rediss://`, with user, password and database number where needed. */
  readonly url: string;
  /** Shown by CLIENT LIST. */
  readonly name?: string;
  /** Least time to wait for the first connection, 10 s by default. */
  readonly connectWithinMs?: number;
  /**
   * A call may wait this long, also for a connection; without it a half-open connection hangs callers for ever. One that
   * owes an answer for twice as long is replaced. Default 1,000 ms.
   */
  readonly commandTimeoutMs?: number;
  /** Told of every connection error; the client keeps reconnecting by itself. */
  readonly onError?: (error: Error) => void;
}

export type RedisConnection = Redis & Scripts & BinaryScripts;

const COMMAND_TIMEOUT_MS = 1000;
const MAX_RETRIES_PER_REQUEST = 3;

/** Connects and waits until Redis answers; rejects with StateUnavailable when it does not. */
export async function connect(options: RedisStateOptions): Promise<RedisConnection> {
  const { commandTimeoutMs = COMMAND_TIMEOUT_MS } = options;
  const redis = new (ioredis().Redis)(options.url, {
    lazyConnect: true,
    commandTimeout: commandTimeoutMs,
    socketTimeout: 2 * commandTimeoutMs,
    maxRetriesPerRequest: MAX_RETRIES_PER_REQUEST,
    retryStrategy: (attempt) => Math.min(50 * attempt, 1000),
    connectionName: options.name,
  });
  for (const [name, lua] of Object.entries(readScripts())) redis.defineCommand(name, { lua });
  writeTogether(redis);
  await firstConnection(redis, options);
  return redis as RedisConnection;
}

/**
 * Commands of one turn of the event loop leave in one write. One by one each would be a system call here and a wake-up,
 * a reply and a write to the append-only file there.
 */
function writeTogether(redis: Redis): void {
  const send = redis.sendCommand.bind(redis);
  let corked = false;
  redis.sendCommand = (...command) => {
    const { stream } = redis;
    if (!corked && stream?.writable) {
      corked = true;
      stream.cork();
      process.nextTick(() => {
        corked = false;
        stream.uncork();
      });
    }
    return send(...command);
  };
}

async function firstConnection(redis: Redis, options: RedisStateOptions): Promise<void> {
  let lastError = new Error('no answer');
  redis.on('error', (error: Error) => {
    lastError = error;
    options.onError?.(error);
  });
  const ready = Promise.withResolvers<void>();
  redis.once('ready', ready.resolve);
  const deadline = setTimeout(() => {
    ready.reject(new StateUnavailable('connecting', lastError));
  }, options.connectWithinMs ?? 10_000);
  // Rejects on the first failed attempt, while the client goes on trying; `ready` and the deadline decide.
  redis.connect().catch(() => undefined);
  try {
    await ready.promise;
  } catch (error) {
    redis.disconnect();
    throw error;
  } finally {
    clearTimeout(deadline);
  }
}

/** Replies that say "not now"; any other error reply is a bug in a script or a foreign key. */
const TEMPORARY = /^(LOADING|READONLY|OOM|BUSY|CLUSTERDOWN|MASTERDOWN|NOREPLICAS|TRYAGAIN|MISCONF)\b/;

/** Awaits and measures a reply; everything that may pass becomes StateUnavailable. */
export async function answered<T>(operation: string, reply: Promise<T>): Promise<T> {
  const sinceMs = performance.now();
  try {
    const answer = await reply;
    measured(operation, 'answered', sinceMs);
    return answer;
  } catch (error) {
    const lasting = error instanceof Error && error.name === 'ReplyError' && !TEMPORARY.test(error.message);
    measured(operation, lasting ? 'failed' : 'unavailable', sinceMs);
    if (lasting) throw error;
    throw new StateUnavailable(operation, error);
  }
}
