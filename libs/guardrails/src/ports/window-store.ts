import type { Bins } from '../windows/sketch.ts';
import type { CooldownHolder } from './cooldown-store.ts';

/** Span that a series accumulates over: the last n minutes, one run, or one UTC day (`2026-11-21`). */
export type WindowSpan =
  | { readonly kind: 'sliding'; readonly minutes: number }
  | { readonly kind: 'run'; readonly runId: string }
  | { readonly kind: 'day'; readonly day: string };

/**
 * Aggregates that a series keeps. `sum`: count and sum; `spread`: also minimum, maximum and newest value; `quantiles`:
 * also a sketch with 1 % relative error. A store may keep more, never less.
 */
export type SeriesShape = 'sum' | 'spread' | 'quantiles';

/** One accumulated quantity of one agent. Rules that need the same series share it. */
export interface Series {
  readonly metric: string;
  readonly span: WindowSpan;
  readonly shape: SeriesShape;
}

/** State of a series. `min`, `max` and `last` are null if the shape does not keep them or the series is empty. */
export interface Totals {
  readonly count: number;
  readonly sum: number;
  readonly min: number | null;
  readonly max: number | null;
  readonly last: { readonly atMs: number; readonly value: number } | null;
  /** The `greatestBins` of its sketch, sized for the request's own values; empty if the shape keeps no sketch. */
  readonly bins: Bins;
}

/** One event's contribution to one series. */
export interface Increment {
  /** Index into `series`. */
  readonly series: number;
  /** Index of the event in its batch. Increments of a duplicate event are not applied. */
  readonly event: number;
  readonly atMs: number;
  readonly value: number;
}

export interface AdvanceRequest {
  readonly tenantId: string;
  readonly agentId: string;
  /** Id of the message that carries the batch; the inbox stores the answer under it. */
  readonly messageId: string;
  /** Arrival time of the batch: "now" for every window. */
  readonly nowMs: number;
  readonly series: readonly Series[];
  readonly increments: readonly Increment[];
  /** Events that may be redelivered in another batch, by client-generated id. */
  readonly retryable: readonly { readonly event: number; readonly id: string; readonly atMs: number }[];
  readonly cooldowns: readonly { readonly ruleId: string; readonly dryRun: boolean }[];
}

export interface AdvanceAnswer {
  /** Totals of each series *before* this batch, inside its window at `nowMs`. */
  readonly before: readonly Totals[];
  /** Indices of events that were counted in an earlier batch. */
  readonly duplicates: readonly number[];
  /** Holder of each requested cooldown (possibly expired at `nowMs`), or null. */
  readonly cooling: readonly (CooldownHolder | null)[];
}

/**
 * Counters of one agent. `advance` is atomic: the same message id always gets the same answer and is counted once,
 * regardless of how often and where it is delivered.
 */
export interface WindowStore {
  readonly marker: WindowMarker;
  advance(request: AdvanceRequest): Promise<AdvanceAnswer>;
  /**
   * Advances several messages of agents of one tenant in this order, with nothing in between. Returns one answer per
   * request. Atomic and blocks others, so pass at most a few dozen.
   */
  advanceAll(requests: readonly AdvanceRequest[]): Promise<readonly AdvanceAnswer[]>;
  /** Forgets message ids: a later message with one of them is counted again. Counters do not change. */
  forget(tenantId: string, agentId: string, messageIds: readonly string[]): Promise<void>;
  /** Returns totals at `nowMs` without adding anything, for decisions and screens. */
  read(tenantId: string, agentId: string, nowMs: number, series: readonly Series[]): Promise<readonly Totals[]>;
}

/** Detects that a store has lost its counters. */
export interface WindowMarker {
  /** Call before the first look, while nothing is counted: declares the existing counters complete. */
  adopt(): Promise<void>;
  /** The caller that gets `lost` recounts and confirms within `leaseMs`; afterwards another caller gets the lease. */
  look(leaseMs: number): Promise<Completeness>;
  /** Returns whether a lease is still valid. It ends after its duration, or if the store loses its data again. */
  holds(turn: string): Promise<boolean>;
  /**
   * Confirms a finished recount: everything since then is counted (0: everything). Returns false, changing nothing, if
   * the lease was lost, because the recounted data may be lost as well.
   */
  recounted(turn: string, sinceMs: number): Promise<boolean>;
}

/** How far back the counters of all agents are complete. */
export type Completeness =
  /** Complete since then; 0 if complete from the beginning. */
  | { readonly kind: 'since'; readonly atMs: number }
  /** The store lost its data, and the caller holds the lease to recount what the stream still contains. */
  | { readonly kind: 'lost'; readonly turn: string }
  /** Another caller is recounting. */
  | { readonly kind: 'recounting' };
