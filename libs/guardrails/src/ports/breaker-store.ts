import type { BreakerScope } from '@agentlens/contracts';
import type { Breaker } from '../breaker/index.ts';

/** Reference to the breaker of an agent, of one of its runs, or of a run tree. */
export interface BreakerRef {
  readonly scope: BreakerScope;
  /** Id of the run, the agent, or the topmost run of the tree. */
  readonly scopeId: string;
}

/** Usage that the agent reports with its requests; counts only until its events report as much. */
export interface AskedUsage {
  readonly tokens: number;
  readonly costUsd: number;
  readonly iterations: number;
}

export interface StoredBreaker {
  readonly breaker: Breaker;
  /** Sum since the breaker last closed. */
  readonly asked: AskedUsage;
  /** Incremented by every write; 0 if nothing is stored. */
  readonly revision: number;
  /**
   * Version of the state. Incremented by every change of state and not reset if the store is lost. 0 if it never
   * changed.
   */
  readonly version: number;
  /** Version of the newest change of state that was recorded and announced. */
  readonly recordedVersion: number;
}

/** An event to be counted once, regardless of the message that delivers it. */
export interface EventMark {
  readonly id: string;
  readonly atMs: number;
}

export interface BreakerQuestion {
  readonly tenantId: string;
  /** The agent that asks, or that reported the events. */
  readonly agentId: string;
  /** Breakers of this agent and its runs, or breakers of run trees, but not both. */
  readonly refs: readonly BreakerRef[];
  /** Adds usage to the breaker at this index of `refs`, once per `once`, or every time if `once` is absent. */
  readonly adding?: { readonly at: number; readonly usage: AskedUsage; readonly once?: string };
  /** Events to check for having been counted before. */
  readonly events?: readonly EventMark[];
}

export interface BreakerAnswers {
  /** In the order of `refs`. */
  readonly breakers: readonly StoredBreaker[];
  /** Indices into `events` of those that were counted before. */
  readonly counted: readonly number[];
}

export interface BreakerChange {
  readonly ref: BreakerRef;
  /** Revision as read. The write is rejected if another writer came first. */
  readonly revision: number;
  readonly breaker: Breaker;
  /** Version of the new state; unchanged if the state did not change. */
  readonly version: number;
  /** True if the count starts over, which also discards reported usage. */
  readonly forgetAsked: boolean;
}

/**
 * Breakers of each agent and its runs, and of the run trees of each tenant, with optimistic concurrency: read, compute the change with the pure functions,
 * write unless the revision has changed. Every decision is therefore serializable, and only one caller becomes the
 * probe.
 */
export interface BreakerStore {
  read(question: BreakerQuestion): Promise<BreakerAnswers>;
  /** Writes all changes and event marks atomically. Returns false, writing nothing, if any revision is outdated. */
  write(
    tenantId: string,
    agentId: string,
    changes: readonly BreakerChange[],
    events?: readonly EventMark[],
  ): Promise<boolean>;
  /** Marks a change of state as recorded. */
  recorded(tenantId: string, agentId: string, ref: BreakerRef, version: number): Promise<void>;
  /** Remembers for a week that a tenant's agents request decisions, so that their events are counted. */
  watch(tenantId: string): Promise<void>;
  watched(tenantId: string): Promise<boolean>;
}
