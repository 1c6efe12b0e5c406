import type { Trigger } from '@agentlens/contracts';
import { meets, withoutNoise } from '../catalog/threshold.ts';
import { type CooldownHolder, cooling } from '../ports/cooldown-store.ts';
import type { AdvanceAnswer, Totals } from '../ports/window-store.ts';
import type { EventRule } from '../rules/active-rule.ts';
import { spans } from '../windows/span.ts';
import { NO_TOTALS, withValue } from '../windows/totals.ts';
import { makeTrigger } from './make-trigger.ts';
import type { DegradedRule, Plan } from './plan.ts';
import type { StopReason, Stops } from './stop-reason.ts';

/** A trigger that stands if the cooldown can be claimed for it. */
export interface Candidate {
  readonly rule: EventRule;
  readonly trigger: Trigger;
}

/** The newest value a rule was measured with; null: not enough data. */
export interface Reading {
  readonly rule: EventRule;
  readonly value: number | null;
}

export interface Folding {
  /** In the order of the events that caused them; per rule at most one, unless it has no cooldown. */
  readonly candidates: readonly Candidate[];
  readonly readings: readonly Reading[];
  readonly degraded: readonly DegradedRule[];
  readonly stops: Stops;
}

/**
 * Evaluates a planned batch one event at a time over the totals from before it: each event first adds what it
 * brings, then its rules are measured. Gives what evaluating every event on its own would give, and always the same for
 * the same plan and answer.
 */
export function fold(plan: Plan, answer: AdvanceAnswer): Folding {
  return new AgentFold(plan, answer).run();
}

class AgentFold {
  readonly #plan: Plan;
  readonly #totals: Totals[];
  readonly #duplicates: ReadonlySet<number>;
  /** Per rule, the trigger that holds its cooldown. */
  readonly #holders = new Map<string, CooldownHolder>();
  /** Rules with a candidate in this batch: cooling for the rest of it, whether or not the claim succeeds. */
  readonly #taken = new Set<string>();
  readonly #candidates: Candidate[] = [];
  readonly #values = new Map<EventRule, number | null>();
  readonly #degraded: Map<EventRule, string>;
  readonly #stops: Stops = {};

  constructor(plan: Plan, answer: AdvanceAnswer) {
    this.#plan = plan;
    this.#totals = plan.request.series.map((_, i) => answer.before[i] ?? NO_TOTALS);
    this.#duplicates = new Set(answer.duplicates);
    this.#degraded = new Map(plan.degraded.map(({ rule, reason }) => [rule, reason]));
    plan.request.cooldowns.forEach(({ ruleId }, i) => {
      const holder = answer.cooling[i];
      if (holder) this.#holders.set(ruleId, holder);
    });
  }

  run(): Folding {
    for (const planned of this.#plan.events) {
      if (this.#duplicates.has(planned.index)) {
        this.#stop('duplicate_event', planned.measurements.length);
        continue;
      }
      this.#add(planned);
      for (const { rule, series } of planned.measurements) {
        const stopped = this.#evaluate(planned, rule, series);
        if (stopped !== null) this.#stop(stopped);
      }
    }
    return {
      candidates: this.#candidates,
      readings: [...this.#values].map(([rule, value]) => ({ rule, value })),
      degraded: [...this.#degraded].map(([rule, reason]) => ({ rule, reason })),
      stops: this.#stops,
    };
  }

  #add({ increments }: Plan['events'][number]): void {
    const { nowMs, series } = this.#plan.request;
    for (const { series: index, atMs, value } of increments) {
      const target = series[index];
      if (target === undefined || !spans(target.span, atMs, nowMs)) continue;
      this.#totals[index] = withValue(this.#totals[index] ?? NO_TOTALS, target.shape, atMs, value);
    }
  }

  /** Null: a candidate was made. */
  #evaluate({ event }: Plan['events'][number], rule: EventRule, series: readonly number[] | null): StopReason | null {
    const { agentId, nowMs } = this.#plan.request;
    const holder = this.#holders.get(rule.id);
    if (this.#degraded.has(rule)) return 'degraded';
    if (series === null) return 'not_concerned';
    if (this.#taken.has(rule.id)) return 'cooling';
    const held = holder !== undefined && cooling(holder, nowMs, rule.cooldownMinutes * MINUTE_MS);
    // A holder made at this very instant may be this batch's own: it was evaluated before and its answer forgotten.
    if (held && holder.atMs !== nowMs) return 'cooling';
    try {
      const value = this.#measure(rule, series);
      this.#values.set(rule, value);
      if (value === null) return 'no_data';
      if (!meets(value, rule.threshold)) return 'below_threshold';
      const trigger = makeTrigger(rule, { agentId, atMs: nowMs, value, event });
      if (held && holder.triggerId !== trigger.id) return 'cooling';
      this.#candidates.push({ rule, trigger });
      if (rule.cooldownMinutes > 0) this.#taken.add(rule.id);
      return null;
    } catch (error) {
      this.#degraded.set(rule, error instanceof Error ? error.message : String(error));
      return 'degraded';
    }
  }

  #measure(rule: EventRule, series: readonly number[]): number | null {
    const value = rule.measure(series.map((index) => this.#totals[index] ?? NO_TOTALS));
    return value === null || !Number.isFinite(value) ? null : withoutNoise(value);
  }

  #stop(reason: StopReason, times = 1): void {
    this.#stops[reason] = (this.#stops[reason] ?? 0) + times;
  }
}

const MINUTE_MS = 60_000;
