import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { type Histogram, metrics } from '@opentelemetry/api';
import type { Redis } from 'ioredis';
import { StateUnavailable } from '../state-stores.ts';

/** How a call ended: answered, to be repeated later, or refused for a reason that will not pass. */
type CallOutcome = 'answered' | 'unavailable' | 'failed';

const BOUNDARIES_MS = [0.25, 0.5, 1, 2, 5, 10, 25, 50, 100, 250, 500, 1000];

// Made at the first call: an instrument made before telemetry has started would record nothing, for good.
let duration: Histogram | undefined;

/** Records one call to Redis that began at `sinceMs` of performance.now(). */
export function measured(operation: string, outcome: CallOutcome, sinceMs: number): void {
  duration ??= metrics.getMeter('agentlens').createHistogram('agentlens.state.call.duration', {
    description: 'Time from asking Redis to its answer, by operation and outcome',
    unit: 'ms',
    advice: { explicitBucketBoundaries: BOUNDARIES_MS },
  });
  duration.record(performance.now() - sinceMs, { operation, outcome });
}

/** Beside `src` and `dist`, so that both find it. */
const FOLDER = new URL('../../lua/', import.meta.url);

/** Which commands there are. The script of each is the file of that name: `takeTokens` is lua/take-tokens.lua. */
const COMMANDS = [
  'advanceWindows',
  'readWindows',
  'endRecount',
  'takeTokens',
  'rememberContents',
  'claimCooldown',
  'rearmCooldowns',
  'enterCall',
  'settleCall',
  'completeCall',
  'readCalls',
  'readBreakers',
  'writeBreakers',
  'breakerRecorded',
  'reserveBudget',
  'readBalances',
  'spendBudget',
  'tallyEvaluated',
] as const;

type Arguments = readonly (string | number)[];
type Command = (...call: Arguments) => Promise<unknown>;

/** Scripts as commands: number of keys, keys, arguments. */
export type Scripts = Readonly<Record<(typeof COMMANDS)[number], Command>>;

/** The same where the reply is not text. */
type BinaryScripts = Readonly<Record<'advanceWindowsBuffer' | 'readWindowsBuffer', Command>>;

/** Reads every script once. A line `--- @include "cells"` stands for the whole of lua/cells.lua. */
export function readScripts(): Record<keyof Scripts, string> {
  const files = new Map<string, string>();
  const read = (name: string): string => {
    const text = files.get(name) ?? readFileSync(new URL(`${name}.lua`, FOLDER), 'utf8');
    files.set(name, text);
    return text.replace(/^--- @include "([a-z-]+)"$/gm, (_, included: string) => read(included));
  };
  const scripts = COMMANDS.map((command) => [command, read(fileOf(command))]);
  return Object.fromEntries(scripts) as Record<keyof Scripts, string>;
}

const fileOf = (command: string) => command.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);

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
