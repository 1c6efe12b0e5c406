import type { Bins } from '../windows/sketch.ts';
import type { CooldownHolder } from './cooldown-store.ts';

/** What a series accumulates over: the last n minutes, one run, or one UTC day (`2026-11-21`). */
export type WindowSpan =
  | { readonly kind: 'sliding'; readonly minutes: number }
  | { readonly kind: 'run'; readonly runId: string }
  | { readonly kind: 'day'; readonly day: string };

/**
 * `sum` keeps count and sum; `spread` also least, greatest and newest value; `quantiles` also a sketch with 1 %
 * relative error. A store may keep more than asked, never less.
 */
export type SeriesShape = 'sum' | 'spread' | 'quantiles';

/** One accumulated quantity of one agent. Rules that need the same series share it. */
export interface Series {
  readonly metric: string;
  readonly span: WindowSpan;
  readonly shape: SeriesShape;
}

/** What a series held. `min`, `max` and `last` are null where the shape does not keep them or nothing was seen. */
export interface Totals {
  readonly count: number;
  readonly sum: number;
  readonly min: number | null;
  readonly max: number | null;
  readonly last: { readonly atMs: number; readonly value: number } | null;
  /** The `greatestBins` of its sketch, with all values of the request to come; empty where the shape keeps none. */
  readonly bins: Bins;
}

/** One event's contribution to one series. */
export interface Increment {
  /** Index into `series`. */
  readonly series: number;
  /** Index of the event in its batch; increments of an event found to be a duplicate are not applied. */
  readonly event: number;
  readonly atMs: number;
  readonly value: number;
}

export interface AdvanceRequest {
  readonly tenantId: string;
  readonly agentId: string;
  /** Of the message that carries the batch: the inbox remembers the answer under it. */
  readonly messageId: string;
  /** The batch's arrival time: "now" for every window. */
  readonly nowMs: number;
  readonly series: readonly Series[];
  readonly increments: readonly Increment[];
  /** Events that may arrive again in another batch, by client-made id. */
  readonly retryable: readonly { readonly event: number; readonly id: string; readonly atMs: number }[];
  readonly cooldowns: readonly { readonly ruleId: string; readonly dryRun: boolean }[];
}

export interface AdvanceAnswer {
  /** Totals of each series *before* this batch, inside its window at `nowMs`. */
  readonly before: readonly Totals[];
  /** Indices of events that were counted before, in an earlier batch. */
  readonly duplicates: readonly number[];
  /** Per asked cooldown, who holds it (perhaps no longer at `nowMs`), or null. */
  readonly cooling: readonly (CooldownHolder | null)[];
}

/**
 * Counters of one agent. `advance` is one atomic step: the same message id always gets the same answer and is counted
 * once, however often and wherever it is delivered.
 */
export interface WindowStore {
  readonly marker: WindowMarker;
  advance(request: AdvanceRequest): Promise<AdvanceAnswer>;
  /**
   * The same for several messages of agents of one tenant, as if they were advanced in this order with nothing in
   * between. Answers one per request. One step, and others wait for it: no more than a few dozen.
   */
  advanceAll(requests: readonly AdvanceRequest[]): Promise<readonly AdvanceAnswer[]>;
  /** What comes under one of these message ids from now on is another message; what was counted stays counted. */
  forget(tenantId: string, agentId: string, messageIds: readonly string[]): Promise<void>;
  /** Totals at `nowMs` without adding anything; for decisions and screens. */
  read(tenantId: string, agentId: string, nowMs: number, series: readonly Series[]): Promise<readonly Totals[]>;
}

/** Notices that a store has lost its counters. */
export interface WindowMarker {
  /** Before the first look, while nothing is counted: what is there already is whole. */
  adopt(): Promise<void>;
  /** Who is told `lost` counts again and says so within `leaseMs`; after that it is somebody else's turn. */
  look(leaseMs: number): Promise<Completeness>;
  /** Whether a turn still stands. It ends with its lease, and where the store has forgotten everything once more. */
  holds(turn: string): Promise<boolean>;
  /**
   * Counting again is over: everything since then is counted; 0: everything. False: the turn no longer stood, so what was
   * counted in it may be lost as well, and nothing was said.
   */
  recounted(turn: string, sinceMs: number): Promise<boolean>;
}

/** How far back the counters of all agents reach. */
export type Completeness =
  /** Everything since then is counted; 0: everything. */
  | { readonly kind: 'since'; readonly atMs: number }
  /** The store has forgotten everything, and it is the caller's turn to count again what the stream still holds. */
  | { readonly kind: 'lost'; readonly turn: string }
  /** Somebody else is counting again. */
  | { readonly kind: 'recounting' };
