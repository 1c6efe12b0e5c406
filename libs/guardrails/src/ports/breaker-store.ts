import type { Breaker } from '../breaker/index.ts';

/** Which breaker of an agent: the agent's own, or that of one of its runs. */
export interface BreakerRef {
  readonly scope: 'run' | 'agent';
  /** Run id or agent id. */
  readonly scopeId: string;
}

/** What an agent says it has used when it asks; counts only until its events report as much. */
export interface AskedUsage {
  readonly tokens: number;
  readonly costUsd: number;
  readonly iterations: number;
}

export interface StoredBreaker {
  readonly breaker: Breaker;
  /** Summed up since the breaker last closed. */
  readonly asked: AskedUsage;
  /** Rises with every write; 0: nothing is stored. */
  readonly revision: number;
  /** Of the last change of state; rises with each, also over a loss of the store. 0: it never changed. */
  readonly version: number;
  /** The newest change of state that is in the record and was announced. */
  readonly recordedVersion: number;
}

/** An event to be counted once, whatever message it comes in. */
export interface EventMark {
  readonly id: string;
  readonly atMs: number;
}

export interface BreakerQuestion {
  readonly tenantId: string;
  readonly agentId: string;
  readonly refs: readonly BreakerRef[];
  /** Adds to what the breaker at this index of `refs` holds as asked, once per `once`; always where that is absent. */
  readonly adding?: { readonly at: number; readonly usage: AskedUsage; readonly once?: string };
  /** Which of these were counted before. */
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
  /** As it was read: the write is refused where somebody else has written since. */
  readonly revision: number;
  readonly breaker: Breaker;
  /** Of its state; the same as read where the state did not change. */
  readonly version: number;
  /** True where the count begins again, so that what was said when asking is forgotten too. */
  readonly forgetAsked: boolean;
}

/**
 * The breakers of each agent and its runs. Whoever changes one reads it, works the change out with the pure code, and
 * writes it if nobody else was quicker: so every decision about a breaker is one that some order of callers gives, and
 * only one caller becomes the probe.
 */
export interface BreakerStore {
  read(question: BreakerQuestion): Promise<BreakerAnswers>;
  /** All of the changes and the marks of the events they count, or, where any was overtaken, nothing and false. */
  write(
    tenantId: string,
    agentId: string,
    changes: readonly BreakerChange[],
    events?: readonly EventMark[],
  ): Promise<boolean>;
  /** Says that this change of state is in the record. */
  recorded(tenantId: string, agentId: string, ref: BreakerRef, version: number): Promise<void>;
  /** Remembers for a week that a tenant's agents ask for decisions, so that their events are counted. */
  watch(tenantId: string): Promise<void>;
  watched(tenantId: string): Promise<boolean>;
}
