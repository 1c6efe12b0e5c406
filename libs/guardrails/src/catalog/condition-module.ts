import type { AgentEvent, DecisionPhase, DecisionRequest, EventKind } from '@agentlens/contracts';
import type { z } from 'zod';
import type { DecisionAnswer } from '../decisions/answer.ts';
import type { CallFacts, ConditionNeeds } from '../decisions/facts.ts';
import type { Series } from '../ports/window-store.ts';
import type { SeriesTotals } from '../windows/series-totals.ts';
import type { Threshold } from './threshold.ts';

/** When a condition can be asked: as events stream in, or before a tool runs. */
export type Phase = 'stream' | 'decision';

interface ConditionBase<C> {
  /** Name in `conditionType`, snake_case; the folder is the same in kebab-case. */
  readonly type: string;
  readonly title: string;
  readonly description: string;
  /** Unit of the measured value, as shown beside it: `%`, `USD`, `points`; empty where it depends or nothing is measured. */
  readonly unit: string;
  /** Strict: unknown keys are refused. Defaults make `{}` valid wherever that is sensible. */
  readonly config: z.ZodType<C>;
  readonly example: C;
  readonly phases: readonly Phase[];
}

interface Measured<C> extends ConditionBase<C> {
  threshold(config: C): Threshold;
  /** One sentence for the operator: what was measured, and what it is compared with. */
  message(config: C, value: number): string;
}

/** What decides over series that events feed: which kinds feed them, and which series an event adds to. */
export interface EventFeed {
  readonly kinds: readonly EventKind[];
  series(event: AgentEvent): readonly Series[] | null;
}

/** A condition on events with its config, made ready: what is the same for all events is worked out once. */
export interface EventMeasure {
  /**
   * The series to read for this event, in the order `measure` gets them; null: this event says nothing to it. Where
   * they are those of another event, give the same array: that costs next to nothing.
   */
  readonly series: (event: AgentEvent) => readonly Series[] | null;
  /** The series to read where a call asks, in the same order. Present where `phases` holds `decision`. */
  readonly seriesAt?: (call: { readonly runId: string; readonly nowMs: number }) => readonly Series[];
  /** Null: not enough data, never fires. */
  readonly measure: (totals: readonly SeriesTotals[]) => number | null;
}

/** Measured as each event arrives, over the totals of series of the event's agent. */
export interface EventCondition<C> extends Measured<C> {
  readonly cadence: 'event';
  /**
   * Kinds of event it is measured on; drives the rule index. Must hold every kind that adds to one of its series,
   * because series are fed only by events that reach a rule that reads them.
   */
  listensTo(config: C): readonly EventKind[];
  /** Called once per rule, with a config that its schema parsed. */
  ready(config: C): EventMeasure;
}

/** Measured each minute over the daily rollups of an agent. */
export interface TickCondition<C> extends Measured<C> {
  readonly cadence: 'tick';
  /** Days back from now that are scored. */
  windowDays(config: C): number;
  /** `score`: the agent's health score over those days; null: no data. */
  measure(config: C, score: number | null): number | null;
}

/** What of a call a condition can look at, beside its tool, its phase and what is fetched. */
export const CALL_PARTS = ['args', 'result', 'actor', 'tags', 'subjects', 'metrics'] as const;
export type CallPart = (typeof CALL_PARTS)[number];

/** A measured value and what it is compared with, in the unit of the condition. */
export interface CallMeasurement {
  readonly value: number;
  readonly limit: number;
}

/** One condition with its config, made ready: patterns compiled, names folded. */
export interface CallTest {
  readonly reads: readonly CallPart[];
  /**
   * What is certain where arguments or results are not here whole. `yes`: a yes, since no further value could undo it;
   * `always`: the test sees to it by itself. Absent: nothing is, and the answer is `missing`.
   */
  readonly certain?: 'yes' | 'always';
  /** True if it looks at other calls: then `needs` is also asked for calls its rule is not about. */
  readonly counts?: boolean;
  /** Events that feed series it reads. */
  readonly feeds?: readonly EventFeed[];
  /** What has to be fetched to ask about this call. */
  needs?(request: DecisionRequest): ConditionNeeds;
  matches(facts: CallFacts): DecisionAnswer;
  /**
   * What was measured and what it was held against, for people; asked only where `matches` said yes. Null: this yes
   * comes from something that is no number.
   */
  measured?(facts: CallFacts): CallMeasurement | null;
}

/** Asked about one call, before or after it. */
export interface CallCondition<C> extends ConditionBase<C> {
  readonly cadence: 'call';
  /** The phases in which it can be asked; a rule that names none is asked in the first. */
  readonly askedIn: readonly DecisionPhase[];
  /** Called once per rule, with a config that its schema parsed. */
  ready(config: C): CallTest;
}

/** Of any config: methods take what the module's own `config` schema parsed, and nothing else. */
export type ConditionModule<C = unknown> = EventCondition<C> | TickCondition<C> | CallCondition<C>;
