import type { DecisionRequest } from '@agentlens/contracts';
import type { PastCall } from '../ports/call-history.ts';
import type { Increment, Series, Totals } from '../ports/window-store.ts';

/** What one call adds to one series. `call`: taken back if the call is refused; `report`: it happened anyway. */
export interface Addition {
  readonly series: Series;
  readonly value: number;
  readonly because: 'call' | 'report';
}

/** What one condition needs fetched. */
export interface ConditionNeeds {
  readonly history?: boolean;
  readonly series?: readonly Series[];
  readonly additions?: readonly Addition[];
}

/** What has to be fetched before `decide` can be asked; nothing of it for most calls. */
export interface FactNeeds {
  /** The run's earlier calls: `CallHistory.enter` before a tool call, `complete` after it, `read` before a model call. */
  readonly history: boolean;
  /** Tags of the agent. */
  readonly agent: boolean;
  /** Series of the agent; `DecisionFacts.totals` is in this order, as they stood before this request. */
  readonly series: readonly Series[];
  /** What this request adds to them, ready for `WindowStore.advance` (event 0). Empty: `WindowStore.read` will do. */
  readonly increments: readonly Increment[];
  /** To be advanced, under a message id of its own, if the call is refused: a refused call does not count. */
  readonly undo: readonly Increment[];
}

export interface AgentFacts {
  readonly tags: readonly string[];
}

/** Why something could not be fetched. */
export type Unavailable = 'unavailable' | 'deadline';

/** What was fetched for one request. What was not needed may be absent. */
export interface DecisionFacts {
  /** The needs that were fetched for. */
  readonly needs: FactNeeds;
  /** SHA-256 (hex) of the canonical arguments, and of the canonical result after a call. */
  readonly argsHash: string;
  readonly resultHash?: string;
  /** The other calls of the run, oldest first. */
  readonly history?: readonly PastCall[] | Unavailable;
  /** In the order of `needs.series`. */
  readonly totals?: readonly Totals[] | Unavailable;
  /** Absent: the agent never registered, so it has no tags. */
  readonly agent?: AgentFacts | Unavailable;
  /** Ids of rules whose approval of exactly this call stands: they no longer ask. */
  readonly approved?: ReadonlySet<string>;
}

/** What a condition sees of a call. */
export interface CallFacts {
  readonly request: DecisionRequest;
  readonly nowMs: number;
  readonly argsHash: string;
  readonly resultHash?: string;
  /** The other calls of the run, oldest first; null: could not be had. */
  readonly history: readonly PastCall[] | null;
  /** A series the condition needed, as it stood before this request; null: could not be had. */
  readonly before: (series: Series) => Totals | null;
  /** The same with what this request adds. */
  readonly including: (series: Series) => Totals | null;
}
