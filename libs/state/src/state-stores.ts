import { MINUTE_MS } from '@agentlens/contracts';
import type { BreakerStore, BudgetStore, CallHistory, CooldownStore, WindowStore } from '@agentlens/guardrails';
import type { Quota } from './quota.ts';

/** One message of events that was evaluated. */
export interface EvaluatedMessage {
  readonly tenantId: string;
  /** When the platform took it, ms. */
  readonly receivedAtMs: number;
  /** Its place in the stream: a message that is evaluated again counts once. */
  readonly sequence: number;
  readonly events: number;
}

/**
 * How many events were evaluated, by tenant and minute of arrival: the evaluators' own word, for the auditor. Minutes
 * are forgotten a day after the last message of theirs.
 */
export interface EvaluationTally {
  /** @throws StateUnavailable; then the same may be added again. */
  add(messages: readonly EvaluatedMessage[]): Promise<void>;
  /** Events by tenant of the minute that began at `minuteMs`. @throws StateUnavailable */
  read(minuteMs: number): Promise<ReadonlyMap<string, number>>;
}

export function minuteOf(atMs: number): number {
  return Math.floor(atMs / MINUTE_MS) * MINUTE_MS;
}

/** What the gateway remembers of a request that can be sent again. */
export interface IdempotentRequest {
  /** SHA-256 of the body: the same key with another body is a client's mistake. */
  readonly bodyHash: string;
  /** Arrival of the first attempt; retries are dated with it, so their events are the same events. */
  readonly receivedAtMs: number;
}

/** A request that is carried out once: what it asked, and what came of it. */
export interface OnceRequest {
  /** SHA-256 of all that the request says: another request under its key is a client's mistake. */
  readonly requestHash: string;
  readonly startedAtMs: number;
  /** Absent: it is being carried out, or was when its process ended. */
  readonly result?:
    | { readonly kind: 'answered' /** Sealed by who keeps it. */; readonly answer: string }
    | { readonly kind: 'unknown' };
}

export interface IdempotencyStore {
  /**
   * Remembers the request if the key is new, and answers what is now remembered under it. For 24 hours, in memory among
   * the latest requests only.
   */
  remember(tenantId: string, key: string, request: IdempotentRequest): Promise<IdempotentRequest>;
  /**
   * Takes the key for a request, for 24 hours (in memory among the latest requests only).
   * @returns null if nobody had it, so that the caller carries the request out; else what is kept under it.
   */
  begin(tenantId: string, key: string, request: OnceRequest): Promise<OnceRequest | null>;
  /** Keeps what came of a request under the key that it took. */
  finish(tenantId: string, key: string, request: OnceRequest): Promise<void>;
  /** Gives the key back: the request changed nothing. */
  release(tenantId: string, key: string): Promise<void>;
  /**
   * Remembers the content hash of client-made event ids, and answers the ids that are known with another content.
   * Best effort within the retention of the store, and in memory among the latest ids only.
   */
  conflicts(
    tenantId: string,
    events: readonly { readonly id: string; readonly hash: string }[],
  ): Promise<readonly string[]>;
}

/** Of a content's SHA-256: enough to tell two contents of one id apart. */
export function shortHash(hash: string): string {
  return hash.slice(0, 12);
}

/** One connected SDK: a process that listens for directives and orders. */
export interface Instance {
  readonly agentId: string;
  readonly instanceId: string;
}

/**
 * Which SDK instances listen now, over all gateways: what "3 of 4 acknowledged" counts against. An instance that is not
 * touched again in time is gone; nobody has to say goodbye.
 */
export interface Presence {
  touch(tenantId: string, agentId: string, instanceId: string, ttlMs: number): Promise<void>;
  /** Of one agent, or of the whole tenant; in no order that means anything. */
  list(tenantId: string, agentId?: string): Promise<readonly Instance[]>;
}

/** What a run's start said that every later question about its calls has to know. */
export interface RunContext {
  readonly agentId?: string | undefined;
  /** The run whose work this one is a part of. */
  readonly parentRunId?: string | undefined;
  readonly sessionId?: string | undefined;
  readonly actor?:
    | {
        readonly externalId: string;
        readonly name?: string | undefined;
        readonly metadata?: Record<string, string> | undefined;
      }
    | undefined;
  readonly tags?: Readonly<Record<string, string>> | undefined;
}

/** Questions name a run and little more; the start may have been told to another gateway. */
export interface RunContexts {
  /** The first telling stays: a start is repeated, not changed. */
  keep(tenantId: string, runId: string, context: RunContext): Promise<void>;
  find(tenantId: string, runId: string): Promise<RunContext | undefined>;
}

/** Everything that counts and forgets, opened together because it lives in one place: this process, or one Redis. */
export interface StateStores {
  readonly windows: WindowStore;
  readonly cooldowns: CooldownStore;
  readonly quota: Quota;
  readonly idempotency: IdempotencyStore;
  readonly calls: CallHistory;
  readonly breakers: BreakerStore;
  readonly budgets: BudgetStore;
  readonly presence: Presence;
  readonly runContexts: RunContexts;
  readonly evaluationTally: EvaluationTally;
  /** False while the store is away; calls then fail with StateUnavailable, except those that have a fallback. */
  healthy(): boolean;
  close(): Promise<void>;
}

/** The store cannot answer now (away, starting, overloaded); the same call may be made again later. */
export class StateUnavailable extends Error {
  constructor(operation: string, cause: unknown) {
    super(`State store did not answer ${operation}: ${cause instanceof Error ? cause.message : String(cause)}`, {
      cause,
    });
    this.name = 'StateUnavailable';
  }
}
