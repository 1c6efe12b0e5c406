import type { AgentEvent, EventKind } from '@agentlens/contracts';
import type { z } from 'zod';
import type { Series, Totals } from '../ports/window-store.ts';
import type { Threshold } from './threshold.ts';

/** When a condition can be asked: as events stream in, or before a tool runs. */
export type Phase = 'stream' | 'decision';

interface ConditionBase<C> {
  /** Name in `conditionType`, snake_case; the folder is the same in kebab-case. */
  readonly type: string;
  readonly title: string;
  readonly description: string;
  /** Unit of the measured value, as shown beside it: `%`, `USD`, `points`; empty where it depends on the metric. */
  readonly unit: string;
  /** Strict: unknown keys are refused. Defaults make `{}` valid wherever that is sensible. */
  readonly config: z.ZodType<C>;
  readonly example: C;
  readonly phases: readonly Phase[];
  threshold(config: C): Threshold;
  /** One sentence for the operator: what was measured, and what it is compared with. */
  message(config: C, value: number): string;
}

/** Measured as each event arrives, over the totals of series of the event's agent. */
export interface EventCondition<C> extends ConditionBase<C> {
  readonly cadence: 'event';
  /**
   * Kinds of event it is measured on; drives the rule index. Must hold every kind that adds to one of its series,
   * because series are fed only by events that reach a rule that reads them.
   */
  listensTo(config: C): readonly EventKind[];
  /** The series to read for this event, in the order `measure` gets them; null: this event says nothing to it. */
  series(config: C, event: AgentEvent): readonly Series[] | null;
  /** Null: not enough data, never fires. */
  measure(config: C, totals: readonly Totals[]): number | null;
}

/** Measured each minute over the daily rollups of an agent. */
export interface TickCondition<C> extends ConditionBase<C> {
  readonly cadence: 'tick';
  /** Days back from now that are scored. */
  windowDays(config: C): number;
  /** `score`: the agent's health score over those days; null: no data. */
  measure(config: C, score: number | null): number | null;
}

/** Of any config: methods take what the module's own `config` schema parsed, and nothing else. */
export type ConditionModule<C = unknown> = EventCondition<C> | TickCondition<C>;
