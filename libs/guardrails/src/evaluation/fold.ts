import type { AgentEvent, Trigger } from '@agentlens/contracts';
import { meetsWithoutNoise, withoutNoise } from '../catalog/threshold.ts';
import { type CooldownHolder, cooling } from '../ports/cooldown-store.ts';
import type { AdvanceAnswer } from '../ports/window-store.ts';
import type { EventRule } from '../rules/active-rule.ts';
import { spans } from '../windows/span.ts';
import { NO_TOTALS, RunningTotals } from '../windows/totals.ts';
import type { DegradedRule, EvaluationPlan } from './plan.ts';
import { makeTrigger } from './triggers.ts';

/** Why the evaluation of a rule on an event stopped. */
export type StopReason =
  /** An earlier trigger of this rule and agent is still cooling down. */
  | 'cooling'
  /** Another trigger claimed the cooldown in the meantime. */
  | 'claim_refused'
  /** The value does not meet the rule's threshold. */
  | 'threshold_not_met'
  /** The window holds too little data to measure. */
  | 'no_data'
  /** The event is irrelevant to the condition. */
  | 'not_concerned'
  /** The event was counted in an earlier batch. */
  | 'duplicate_event'
  /** The rule threw on an earlier event of this batch. */
  | 'degraded';

/** Number of evaluations stopped, by reason. */
export type StopCounts = Partial<Record<StopReason, number>>;

/** A trigger that becomes final if its cooldown can be claimed. */
export interface RuleCandidate {
  readonly rule: EventRule;
  readonly trigger: Trigger;
}

/** The newest value measured for a rule; null if there is not enough data. */
export interface Reading {
  readonly rule: EventRule;
  readonly value: number | null;
}

export interface Folding {
  /** In the order of the events that caused them. At most one per rule, unless it has no cooldown. */
  readonly candidates: readonly RuleCandidate[];
  readonly readings: readonly Reading[];
  readonly degraded: readonly DegradedRule[];
  readonly stops: StopCounts;
  /** Number of values that arrived too late for their window and are in no total. */
  readonly late: number;
}

/**
 * Evaluates a planned batch event by event, starting from the totals before it: each event is added to its series, then
 * its rules are measured. Equals evaluating every event on its own, and is deterministic for the same plan and answer.
 */
export function fold(plan: EvaluationPlan, answer: AdvanceAnswer): Folding {
  return new AgentFold(plan, answer).run();
}

/** State of a rule during a batch. */
interface RuleProgress {
  readonly rule: EventRule;
  /** The trigger that holds the rule's cooldown. */
  readonly holder: CooldownHolder | null;
  /** True if that trigger was cooling down when the batch arrived. */
  readonly held: boolean;
  /** True if the rule has a candidate in this batch: it cools down for the rest, whether or not the claim succeeds. */
  taken: boolean;
  /** Why the rule is no longer evaluated. */
  degraded: string | null;
  /** The newest value, including noise; undefined before the first measurement. */
  value: number | null | undefined;
}

/** A measurement and its totals. */
interface Lane {
  readonly progress: RuleProgress;
  /** Grow with every event. Null if such events do not concern the rule. */
  readonly totals: readonly RunningTotals[] | null;
}

class AgentFold {
  readonly #plan: EvaluationPlan;
  readonly #totals: readonly RunningTotals[];
  readonly #duplicates: ReadonlySet<number>;
  readonly #progress = new Map<EventRule, RuleProgress>();
  /** Indexed by the place of their measurement. */
  readonly #lanes: readonly Lane[];
  readonly #candidates: RuleCandidate[] = [];
  readonly #stops: StopCounts = {};
  /** Number of increments added so far. */
  #added = 0;
  #late = 0;

  constructor(plan: EvaluationPlan, answer: AdvanceAnswer) {
    this.#plan = plan;
    this.#totals = plan.request.series.map((_, i) => new RunningTotals(answer.before[i] ?? NO_TOTALS));
    this.#duplicates = new Set(answer.duplicates);
    const holders = holdersOf(plan, answer);
    this.#lanes = plan.measurements.map(({ rule, series }) => ({
      progress: this.#progressOf(rule, holders.get(rule.id) ?? null),
      totals: series === null ? null : series.map((index) => this.#totalsOf(index)),
    }));
    for (const { rule, reason } of plan.degraded) this.#progressOf(rule, null).degraded = reason;
  }

  run(): Folding {
    for (const { event, index, measurements } of this.#plan.events) {
      const duplicate = this.#duplicates.has(index);
      this.#add(index, duplicate);
      if (duplicate) {
        this.#stop('duplicate_event', measurements.length);
        continue;
      }
      for (const { place } of measurements) {
        const lane = this.#lanes[place];
        const stopped = lane === undefined ? null : this.#evaluate(event, lane);
        if (stopped !== null) this.#stop(stopped);
      }
    }
    const all = [...this.#progress.values()];
    return {
      candidates: this.#candidates,
      readings: all.flatMap(({ rule, value }) =>
        value === undefined ? [] : [{ rule, value: value === null ? null : withoutNoise(value) }],
      ),
      degraded: all.flatMap(({ rule, degraded }) => (degraded === null ? [] : [{ rule, reason: degraded }])),
      stops: this.#stops,
      late: this.#late,
    };
  }

  #totalsOf(index: number): RunningTotals {
    const totals = this.#totals[index];
    if (totals === undefined) throw new Error('the plan reads a series that it does not request');
    return totals;
  }

  #progressOf(rule: EventRule, holder: CooldownHolder | null): RuleProgress {
    const known = this.#progress.get(rule);
    if (known !== undefined) return known;
    const { nowMs } = this.#plan.request;
    const held = holder !== null && cooling(holder, nowMs, rule.cooldownMinutes * MINUTE_MS);
    const progress = { rule, holder, held, taken: false, degraded: null, value: undefined };
    this.#progress.set(rule, progress);
    return progress;
  }

  /** Adds the increments of the event at `index`, or skips them for a duplicate. */
  #add(index: number, duplicate: boolean): void {
    const { nowMs, series, increments } = this.#plan.request;
    for (let next = increments[this.#added]; next?.event === index; next = increments[this.#added]) {
      this.#added += 1;
      const target = series[next.series];
      if (duplicate || target === undefined) continue;
      if (spans(target.span, next.atMs, nowMs)) this.#totals[next.series]?.add(target.shape, next.atMs, next.value);
      else this.#late += 1;
    }
  }

  /** Returns null if a candidate was created. */
  #evaluate(event: AgentEvent, { progress, totals }: Lane): StopReason | null {
    const { rule, holder, held } = progress;
    const { agentId, nowMs } = this.#plan.request;
    if (progress.degraded !== null) return 'degraded';
    if (totals === null) return 'not_concerned';
    if (progress.taken) return 'cooling';
    // A holder created at this instant may belong to this batch: it was evaluated before, and its answer was lost.
    if (held && holder?.atMs !== nowMs) return 'cooling';
    try {
      const measured = rule.measure(totals);
      progress.value = measured !== null && Number.isFinite(measured) ? measured : null;
      if (progress.value === null) return 'no_data';
      if (!meetsWithoutNoise(progress.value, rule.threshold)) return 'threshold_not_met';
      const trigger = makeTrigger(rule, { agentId, atMs: nowMs, value: withoutNoise(progress.value), event });
      if (held && holder?.triggerId !== trigger.id) return 'cooling';
      this.#candidates.push({ rule, trigger });
      progress.taken = rule.cooldownMinutes > 0;
      return null;
    } catch (error) {
      progress.degraded = error instanceof Error ? error.message : String(error);
      return 'degraded';
    }
  }

  #stop(reason: StopReason, times = 1): void {
    this.#stops[reason] = (this.#stops[reason] ?? 0) + times;
  }
}

/** Returns the holders of a plan's cooldowns by rule. Most batches find none. */
function holdersOf({ request }: EvaluationPlan, { cooling: held }: AdvanceAnswer): ReadonlyMap<string, CooldownHolder> {
  const holders = new Map<string, CooldownHolder>();
  held.forEach((holder, at) => {
    const ruleId = request.cooldowns[at]?.ruleId;
    if (holder !== null && ruleId !== undefined) holders.set(ruleId, holder);
  });
  return holders;
}

const MINUTE_MS = 60_000;
