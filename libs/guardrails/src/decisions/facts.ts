import type { DecisionRequest } from '@agentlens/contracts';
import type { PastCall, WiderScope } from '../ports/call-history.ts';
import type { LabelCause } from '../ports/label-store.ts';
import type { Increment, Series, Totals } from '../ports/window-store.ts';
import { seriesKey } from '../windows/span.ts';
import { NO_TOTALS, withValue } from '../windows/totals.ts';
import type { DecisionRule } from './decision-rule.ts';

/** Amount that one call adds to one series. `call`: subtracted again if the call is rejected; `report`: kept. */
export interface Addition {
  readonly series: Series;
  readonly value: number;
  readonly because: 'call' | 'report';
}

/** What a condition does with the labels of the run tree. */
export interface ConditionLabels {
  readonly reads?: boolean;
  /** True if it also reads the labels of the session, whose names are those of `nameSessionLabel`. */
  readonly readsSession?: boolean;
  /** Labels to set before the call is allowed. */
  readonly sets?: readonly string[];
  /** Labels to set if the approval of the call is denied, expires or is cancelled. */
  readonly setsIfDenied?: readonly string[];
  /** Labels whose evidence the call is compared with. */
  readonly compares?: readonly string[];
  /** Labels for which the result of the call is fingerprinted. */
  readonly prints?: readonly string[];
  /** Labels to clear when the call has completed, if it was asked about and allowed. Needs the history. */
  readonly clears?: readonly string[];
}

/** A label to set, for the rule that needs it. */
export interface WantedLabel {
  readonly label: string;
  readonly rule: DecisionRule;
}

/** Whose calls a condition looks at. */
export type CallScope = 'run' | WiderScope;

/** Facts that one condition needs. */
export interface ConditionNeeds {
  readonly history?: boolean;
  /** Wider scopes whose history is needed. */
  readonly histories?: readonly WiderScope[];
  readonly series?: readonly Series[];
  readonly additions?: readonly Addition[];
  readonly labels?: ConditionLabels;
}

/** Facts to fetch before calling `decide`. Most calls need none. */
export interface FactNeeds {
  /** The run's earlier calls: `CallHistory.enter` before a tool call, `complete` after it, `read` before a model call. */
  readonly history: boolean;
  /** Wider scopes whose history is needed, each like that of the run. */
  readonly histories?: readonly WiderScope[];
  /** True if the agent's tags are needed. */
  readonly agent: boolean;
  /** Series of the agent. `DecisionFacts.totals` has the same order and holds their state before this request. */
  readonly series: readonly Series[];
  /**
   * Amounts that this request adds, ready for `WindowStore.advance` (event 0). If empty, `WindowStore.read` suffices.
   */
  readonly increments: readonly Increment[];
  /** Increments to apply, under a message id of their own, if the call is rejected: a rejected call does not count. */
  readonly undo: readonly Increment[];
  /** Labels of the run tree; absent if no rule is about data flow. */
  readonly labels?: {
    /** True if the answer depends on the labels. */
    readonly reads: boolean;
    /** True if it depends on the labels of the session, too. */
    readonly readsSession?: boolean;
    readonly sets: readonly WantedLabel[];
    readonly setsIfDenied: readonly WantedLabel[];
    readonly clears: readonly string[];
    readonly compares: readonly string[];
    readonly prints: readonly string[];
  };
}

export interface AgentFacts {
  readonly tags: readonly string[];
}

/** What a call carries of the results of a label's source calls. */
export interface FlowEvidence {
  readonly grade: 'none' | 'carried' | 'proven';
  /** False if more may be carried than could be compared. */
  readonly isComplete: boolean;
  /** The value that was found, by its path in the result, and the call that returned it. */
  readonly field?: string;
  readonly source?: LabelCause;
  /** The same without the values of these fields. Absent if nothing was found. */
  readonly without?: (isLeftOut: (field: string) => boolean) => FlowEvidence;
}

/** A label that stands, with its first cause and, if a rule needs it, evidence. */
export interface LabelFact extends LabelCause {
  readonly evidence?: FlowEvidence;
}

/** Why a fact could not be fetched. */
export type Unavailable = 'unavailable' | 'deadline';

/** Facts fetched for one request. Those that were not needed may be absent. */
export interface DecisionFacts {
  /** The needs that were fetched. */
  readonly needs: FactNeeds;
  /** SHA-256 (hex) of the canonical arguments and, after a call, of the canonical result. */
  readonly argsHash: string;
  readonly resultHash?: string;
  /** The other calls of the run, oldest first. */
  readonly history?: readonly PastCall[] | Unavailable;
  /** The other calls of each needed wider scope, oldest first. */
  readonly histories?: ReadonlyMap<WiderScope, readonly PastCall[]> | Unavailable;
  /** In the order of `needs.series`. */
  readonly totals?: readonly Totals[] | Unavailable;
  /** Labels of the run tree with their first cause. */
  readonly labels?: ReadonlyMap<string, LabelFact> | Unavailable;
  /** If absent, the agent never registered and has no tags. */
  readonly agent?: AgentFacts | Unavailable;
  /** Ids of rules for which exactly this call is approved; they no longer ask. */
  readonly approved?: ReadonlySet<string>;
}

/** Facts about a call as a condition sees them. */
export interface CallFacts {
  readonly request: DecisionRequest;
  readonly nowMs: number;
  readonly argsHash: string;
  readonly resultHash?: string;
  /** The other calls of the run, oldest first; null if unavailable. */
  readonly history: readonly PastCall[] | null;
  /** The other calls of a run or a wider scope, oldest first; null if unavailable. */
  readonly calls: (scope: CallScope) => readonly PastCall[] | null;
  /** Labels of the run tree with their first cause; null if unavailable. */
  readonly labels: ReadonlyMap<string, LabelFact> | null;
  /** State of a needed series before this request; null if unavailable. */
  readonly before: (series: Series) => Totals | null;
  /** The same, including what this request adds. */
  readonly including: (series: Series) => Totals | null;
}

/** Presents the fetched facts to conditions. */
export function callView(request: DecisionRequest, facts: DecisionFacts, nowMs: number): CallFacts {
  const { needs, history, histories, totals, labels, argsHash, resultHash } = facts;
  const places = new Map(needs.series.map((series, at) => [seriesKey(series), at]));
  const before = (series: Series): Totals | null => {
    const at = places.get(seriesKey(series));
    if (at === undefined || totals === undefined || typeof totals === 'string') return null;
    return totals[at] ?? NO_TOTALS;
  };
  const including = (series: Series): Totals | null => {
    const at = places.get(seriesKey(series));
    const mine = needs.increments.filter((increment) => increment.series === at);
    const known = before(series);
    return known && mine.reduce((sum, { atMs, value }) => withValue(sum, series.shape, atMs, value), known);
  };
  return {
    request,
    nowMs,
    argsHash,
    ...(resultHash === undefined ? {} : { resultHash }),
    history: history === undefined || typeof history === 'string' ? null : history,
    calls(scope) {
      const wider = typeof histories === 'object' ? histories : undefined;
      const found = scope === 'run' ? history : wider?.get(scope);
      return found === undefined || typeof found === 'string' ? null : found;
    },
    labels: labels === undefined || typeof labels === 'string' ? null : labels,
    before,
    including,
  };
}
