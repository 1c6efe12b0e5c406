import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { type Histogram, metrics } from '@opentelemetry/api';
import type { Redis } from 'ioredis';
import { StateUnavailable } from '../state-stores.ts';

/** Outcome of a call: answered, temporarily unavailable, or failed permanently. */
type CallOutcome = 'answered' | 'unavailable' | 'failed';

const BOUNDARIES_MS = [0.25, 0.5, 1, 2, 5, 10, 25, 50, 100, 250, 500, 1000];

// Created with the first call: an instrument created before telemetry starts never records anything.
let duration: Histogram | undefined;

/** Records one call to Redis that started at `sinceMs` of performance.now(). */
export function measured(operation: string, outcome: CallOutcome, sinceMs: number): void {
  duration ??= metrics.getMeter('agentlens').createHistogram('agentlens.state.call.duration', {
    description: 'Duration of calls to Redis by operation and outcome',
    unit: 'ms',
    advice: { explicitBucketBoundaries: BOUNDARIES_MS },
  });
  duration.record(performance.now() - sinceMs, { operation, outcome });
}

/** Next to `src` and `dist`, so that both find it. */
const FOLDER = new URL('../../lua/', import.meta.url);

/** Commands, one script file each: `takeTokens` is lua/take-tokens.lua. */
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
  'setLabels',
  'readLabels',
  'clearLabels',
  'restoreLabel',
  'noteEvidence',
  'readEvidence',
  'endRestore',
  'readBreakers',
  'writeBreakers',
  'breakerRecorded',
  'reserveBudget',
  'readBalances',
  'spendBudget',
  'releaseBudget',
  'joinTrees',
  'tallyEvaluated',
  'enterTree',
] as const;

type Arguments = readonly (string | number)[];
type Command = (...call: Arguments) => Promise<unknown>;

/** Scripts as commands: number of keys, keys, arguments. */
export type Scripts = Readonly<Record<(typeof COMMANDS)[number], Command>>;

/** Variants that return binary replies. */
type BinaryScripts = Readonly<Record<'advanceWindowsBuffer' | 'readWindowsBuffer', Command>>;

/** Reads all scripts. A line `--- @include "cells"` is replaced by lua/cells.lua. */
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
 * OpenTelemetry patches CommonJS modules only, so an import would produce no spans. Loaded with the first connection,
 * because standalone mode does not need it.
 */
const ioredis = () => load('ioredis') as typeof import('ioredis');

export interface RedisStateOptions {
  /** `redis://` or `rediss://`, optionally with user, password and database number. */
  readonly url: string;
  /** Client name shown by CLIENT LIST. */
  readonly name?: string;
  /** Timeout of the first connection. Default 10 s. */
  readonly connectWithinMs?: number;
  /**
   * Timeout of a call, including the wait for a connection; without it a half-open connection would block callers
   * forever. A connection that owes an answer for twice this time is replaced. Default 1,000 ms.
   */
  readonly commandTimeoutMs?: number;
  /** Called for every connection error; the client reconnects by itself. */
  readonly onError?: (error: Error) => void;
}

export type RedisConnection = Redis & Scripts & BinaryScripts;

const COMMAND_TIMEOUT_MS = 1000;
const MAX_RETRIES_PER_REQUEST = 3;

/** Connects and waits until Redis answers. @throws StateUnavailable after the timeout */
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
 * Sends all commands of one turn of the event loop in one write. Single writes would cost a system call each here, and
 * a wake-up, a reply and a write to the append-only file in Redis.
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
  // Rejects on the first failed attempt while the client keeps trying; `ready` and the timeout decide.
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

/** Temporary error replies. Any other error reply is a bug in a script or a foreign key. */
const TEMPORARY = /^(LOADING|READONLY|OOM|BUSY|CLUSTERDOWN|MASTERDOWN|NOREPLICAS|TRYAGAIN|MISCONF)\b/;

/** Awaits and measures a reply. Turns temporary errors into StateUnavailable. */
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
