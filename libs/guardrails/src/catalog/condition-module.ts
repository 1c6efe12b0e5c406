import type { AgentEvent, DecisionPhase, DecisionRequest, EventKind, FlowGrade } from '@agentlens/contracts';
import type { z } from 'zod';
import type { DecisionAnswer } from '../decisions/answer.ts';
import type { CallFacts, ConditionNeeds } from '../decisions/facts.ts';
import type { LabelCause } from '../ports/label-store.ts';
import type { Series } from '../ports/window-store.ts';
import type { SeriesTotals } from '../windows/totals.ts';
import type { Threshold } from './threshold.ts';

/** When a condition is evaluated: as events arrive, or when an agent asks about a call. */
export type Phase = 'stream' | 'decision';

interface ConditionBase<C> {
  /** Name in `conditionType`, snake_case; the folder has the same name in kebab-case. */
  readonly type: string;
  readonly title: string;
  readonly description: string;
  /** Unit of the measured value as displayed: `%`, `USD`, `points`. Empty if it varies or nothing is measured. */
  readonly unit: string;
  /** Strict: unknown keys are rejected. Defaults make `{}` valid where that is sensible. */
  readonly config: z.ZodType<C>;
  readonly example: C;
  readonly phases: readonly Phase[];
}

interface Measured<C> extends ConditionBase<C> {
  threshold(config: C): Threshold;
  /** One sentence for the operator: the measured value and the limit. */
  message(config: C, value: number): string;
}

/** Event kinds and series that events feed: which kinds contribute, and which series an event adds to. */
export interface EventFeed {
  readonly kinds: readonly EventKind[];
  series(event: AgentEvent): readonly Series[] | null;
}

/** An event condition prepared with its config; computes once what is the same for all events. */
export interface EventMeasure {
  /**
   * The series to read for this event, in the order `measure` receives them, or null if the event is irrelevant. Return
   * the same array if the series are those of a previous event: that costs next to nothing.
   */
  readonly series: (event: AgentEvent) => readonly Series[] | null;
  /** The series to read for a call, in the same order. Present if `phases` includes `decision`. */
  readonly seriesAt?: (call: { readonly runId: string; readonly nowMs: number }) => readonly Series[];
  /** Returns null if there is not enough data; the rule then does not fire. */
  readonly measure: (totals: readonly SeriesTotals[]) => number | null;
}

/** Measured as each event arrives, over the totals of the agent's series. */
export interface EventCondition<C> extends Measured<C> {
  readonly cadence: 'event';
  /**
   * Event kinds it is measured on; drives the rule index. Must include every kind that adds to one of its series,
   * because series are fed only by events that reach a rule that reads them.
   */
  listensTo(config: C): readonly EventKind[];
  /** Called once per rule with a parsed config. */
  ready(config: C): EventMeasure;
}

/** Measured each minute over the daily rollups of an agent. */
export interface TickCondition<C> extends Measured<C> {
  readonly cadence: 'tick';
  /** Number of days to score, back from now. */
  windowDays(config: C): number;
  /** `score`: the agent's health score over those days; null if there is no data. */
  measure(config: C, score: number | null): number | null;
}

/** Parts of a call that a condition can read, besides its tool, its phase and fetched facts. */
export const CALL_PARTS = ['args', 'result', 'actor', 'tags', 'subjects', 'metrics'] as const;
export type CallPart = (typeof CALL_PARTS)[number];

/** A measured value and its limit, in the unit of the condition. */
export interface CallMeasurement {
  readonly value: number;
  readonly limit: number;
}

/** Data that may leave with a call, and the call that read it. */
export interface DataFlow {
  readonly label: string;
  readonly grade: FlowGrade;
  /** Path of the value in the source's result. */
  readonly field?: string;
  readonly source: LabelCause;
}

/** A call that a rule may have to count. */
export interface CountableCall {
  /** Absent for a model call. */
  readonly tool?: DecisionRequest['tool'];
  /** True if the rule selects tools of this name, with any tags. */
  readonly isSelected: boolean;
}

/** A condition prepared with its config: patterns compiled, names case-folded. */
export interface CallTest {
  readonly reads: readonly CallPart[];
  /**
   * Which results hold even if arguments or results were truncated. `yes`: a match, because no further value could undo
   * it; `always`: the test handles truncation itself. Absent: none, and the result is `missing`.
   */
  readonly certain?: 'yes' | 'always';
  /**
   * Returns true if its answers about later calls depend on this call: `needs` is then evaluated for the call even if
   * the rule does not apply to it. Absent if it reads no other calls.
   */
  countsCall?(call: CountableCall): boolean;
  /** True if it also counts calls of agents that the rule is not about. */
  readonly countsEveryAgent?: boolean;
  /** Events that feed the series it reads. */
  readonly feeds?: readonly EventFeed[];
  /** Facts to fetch before evaluating this call. */
  needs?(request: DecisionRequest): ConditionNeeds;
  matches(facts: CallFacts): DecisionAnswer;
  /**
   * The measured value and its limit, for display. Called only after `matches` returned true. Null if the match does
   * not come from a number.
   */
  measured?(facts: CallFacts): CallMeasurement | null;
  /** The data flow behind a match, for display; null if the match has another cause. */
  flow?(facts: CallFacts): DataFlow | null;
}

/** Evaluated for one call, before or after it. */
export interface CallCondition<C> extends ConditionBase<C> {
  readonly cadence: 'call';
  /** The phases in which it can be evaluated. A rule that names no phase uses the first. */
  readonly askedIn: readonly DecisionPhase[];
  /** Called once per rule with a parsed config. */
  ready(config: C): CallTest;
}

/** A condition with any config. Its methods accept only what the module's own `config` schema parsed. */
export type ConditionModule<C = unknown> = EventCondition<C> | TickCondition<C> | CallCondition<C>;
