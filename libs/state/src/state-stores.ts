import { MINUTE_MS, type TreeLimits } from '@agentlens/contracts';
import type {
  BreakerStore,
  BudgetStore,
  CallHistory,
  CooldownStore,
  LabelStore,
  WindowStore,
} from '@agentlens/guardrails';
import type { Quota } from './quota.ts';

/** One evaluated message of events. */
export interface EvaluatedMessage {
  readonly tenantId: string;
  /** Time of arrival at the platform, ms. */
  readonly receivedAtMs: number;
  /** Position in the stream, so that a message that is evaluated again counts once. */
  readonly sequence: number;
  readonly events: number;
}

/**
 * Number of evaluated events by tenant and minute of arrival, written by the evaluators and checked by the auditor. A
 * minute expires a day after its last message.
 */
export interface EvaluationTally {
  /** @throws StateUnavailable; the same messages may be added again */
  add(messages: readonly EvaluatedMessage[]): Promise<void>;
  /** Events by tenant in the minute that starts at `minuteMs`. @throws StateUnavailable */
  read(minuteMs: number): Promise<ReadonlyMap<string, number>>;
}

export function minuteOf(atMs: number): number {
  return Math.floor(atMs / MINUTE_MS) * MINUTE_MS;
}

/** What the gateway remembers of a request that may be retried. */
export interface IdempotentRequest {
  /** SHA-256 of the body, to reject the same key with another body. */
  readonly bodyHash: string;
  /** Arrival of the first attempt. Retries use it too, so that their events are the same events. */
  readonly receivedAtMs: number;
}

/** A request that is executed once, with its result. */
export interface OnceRequest {
  /** SHA-256 of the whole request, to reject another request under the same key. */
  readonly requestHash: string;
  readonly startedAtMs: number;
  /** Absent while the request is being executed, and if its process died meanwhile. */
  readonly result?:
    | { readonly kind: 'answered' /** Sealed by the caller. */; readonly answer: string }
    | { readonly kind: 'unknown' };
}

export interface IdempotencyStore {
  /**
   * Remembers the request if the key is new, and returns the request stored under the key. Kept for 24 hours; in
   * memory, only for the latest requests.
   */
  remember(tenantId: string, key: string, request: IdempotentRequest): Promise<IdempotentRequest>;
  /** The request that was remembered under the key. */
  find(tenantId: string, key: string): Promise<IdempotentRequest | undefined>;
  /**
   * Claims the key for a request for 24 hours; in memory, only among the latest requests.
   * @returns null if the key was free and the caller must execute the request, otherwise the stored request
   */
  begin(tenantId: string, key: string, request: OnceRequest): Promise<OnceRequest | null>;
  /** Stores the result of a request under its key. */
  finish(tenantId: string, key: string, request: OnceRequest): Promise<void>;
  /** Releases the key of a request that changed nothing. */
  release(tenantId: string, key: string): Promise<void>;
  /**
   * Remembers the content hashes of client-made event ids and returns the ids that are known with other content. Best
   * effort within the retention of the store; in memory, only among the latest ids.
   */
  conflicts(
    tenantId: string,
    events: readonly { readonly id: string; readonly hash: string }[],
  ): Promise<readonly string[]>;
}

/** Prefix of a SHA-256, long enough to tell two contents of one id apart. */
export function shortHash(hash: string): string {
  return hash.slice(0, 12);
}

/** A connected SDK process, which receives directives and orders. */
export interface Instance {
  readonly agentId: string;
  readonly instanceId: string;
}

/**
 * SDK instances that are connected to any gateway; the total in "3 of 4 acknowledged". An instance that is not touched
 * within its TTL is removed, so it does not need to sign off.
 */
export interface Presence {
  touch(tenantId: string, agentId: string, instanceId: string, ttlMs: number): Promise<void>;
  /** Instances of one agent or of the whole tenant, in no particular order. */
  list(tenantId: string, agentId?: string): Promise<readonly Instance[]>;
}

/** Context from the start of a run that later questions about its calls need. */
export interface RunContext {
  readonly agentId?: string | undefined;
  /** The run that started this one. */
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

/** Run contexts shared between gateways, because a question may reach another gateway than the start of its run. */
export interface RunContexts {
  /** Keeps the first context and returns it; later ones are ignored. */
  keep(tenantId: string, runId: string, context: RunContext): Promise<RunContext>;
  find(tenantId: string, runId: string): Promise<RunContext | undefined>;
  /** Removes the actor from contexts. The rest stays, because a run belongs to the agent that started it. */
  forgetActor(tenantId: string, runIds: readonly string[]): Promise<void>;
}

/** A run that was started by another one. */
export interface TreeMember {
  readonly tenantId: string;
  readonly runId: string;
  /** Nearest first. */
  readonly ancestors: readonly [string, ...string[]];
}

/** Limits that need a count. Null: none. */
export type CountedTreeLimits = Pick<TreeLimits, 'maxChildren' | 'maxRuns'>;
export type ReachedTreeLimit = 'children' | 'runs';

/**
 * Counts of the runs of each tree and the children of each run, as far as limits were set when they started. A tree is
 * known by its topmost known run. If that run turns out to have a parent, the next entry below it moves its count there.
 * Every method is atomic.
 */
export interface RunTrees {
  /**
   * Enters a run that starts, however often it does.
   * @returns the limit that keeps it out, which is remembered
   */
  enter(member: TreeMember, limits: CountedTreeLimits): Promise<ReachedTreeLimit | undefined>;
  /** Enters a run that a limit kept out, if there is room now. Any other run is left as it is. */
  retry(member: TreeMember, limits: CountedTreeLimits): Promise<ReachedTreeLimit | undefined>;
}

/** @param kept a context as JSON */
export function withoutActor(kept: string): string {
  const { actor: _, ...rest } = JSON.parse(kept) as RunContext;
  return JSON.stringify(rest);
}

/** All stores for state with a TTL, either in this process or in one Redis. */
export interface StateStores {
  readonly windows: WindowStore;
  readonly cooldowns: CooldownStore;
  readonly quota: Quota;
  readonly idempotency: IdempotencyStore;
  readonly calls: CallHistory;
  readonly labels: LabelStore;
  readonly breakers: BreakerStore;
  readonly budgets: BudgetStore;
  readonly presence: Presence;
  readonly runContexts: RunContexts;
  readonly runTrees: RunTrees;
  readonly evaluationTally: EvaluationTally;
  /** False while the store is unreachable. Calls then fail with StateUnavailable unless they have a fallback. */
  healthy(): boolean;
  close(): Promise<void>;
}

/** The store cannot answer at the moment (unreachable, starting, overloaded). The call may be retried. */
export class StateUnavailable extends Error {
  constructor(operation: string, cause: unknown) {
    super(`State store did not answer ${operation}: ${cause instanceof Error ? cause.message : String(cause)}`, {
      cause,
    });
    this.name = 'StateUnavailable';
  }
}
