import { guardrailTriggered, type Trigger } from '@agentlens/contracts';
import {
  type AdvanceAnswer,
  type CooldownStore,
  claimOf,
  type EvaluationPlan,
  type EventRule,
  type Folding,
  fold,
  type Rearming,
  type RuleBook,
  type Series,
  type StopCounts,
  type WindowStore,
} from '@agentlens/guardrails';
import type { EventBus } from '@agentlens/messaging';
import type { Clock } from '@agentlens/platform';
import type { EvaluatorDropMetrics, EvaluatorMetrics } from '../evaluator-metrics.ts';
import type { StateRecorder } from '../states/state-recorder.ts';
import type { WindowGap } from './window-recovery.ts';

/** What the steps of an evaluation depend on. Each step names the ports that it uses. */
export interface EvaluationPorts {
  readonly rules: { readonly book: RuleBook };
  readonly windows: WindowStore;
  readonly publisher: TriggerPublisher;
  readonly states: Pick<StateRecorder, 'record'>;
  readonly metrics: EvaluatorMetrics;
  readonly drops: Pick<EvaluatorDropMetrics, 'dropped'>;
  readonly clock: Clock;
  readonly windowGap?: Pick<WindowGap, 'open' | 'reason'>;
}

/** Maximum number of plans that are counted in one call to the store, which handles nothing else meanwhile. */
const MAX_STEP_PLANS = 32;

/** Groups a list by tenant, in order, into steps of at most `MAX_STEP_PLANS` items. */
export function groupInSteps<T>(list: readonly T[], findTenant: (one: T) => string): T[][] {
  return [...Map.groupBy(list, findTenant).values()].flatMap((own) =>
    Array.from({ length: Math.ceil(own.length / MAX_STEP_PLANS) }, (_, step) =>
      own.slice(step * MAX_STEP_PLANS, (step + 1) * MAX_STEP_PLANS),
    ),
  );
}

/** What the rules measured in the events of one agent, after it was recorded. */
export interface Recorded {
  readonly plan: EvaluationPlan;
  readonly folding: Folding;
  readonly states: 'recorded';
}

/**
 * Measures the rules, finds the triggers that are candidates, and records what was measured. Precedes publishing: lost
 * windows may become complete while a trigger is being published, but this was measured before.
 */
export function measure(
  ports: Pick<EvaluationPorts, 'states' | 'metrics' | 'windowGap'>,
  formatTime: (ms: number) => string,
  plan: EvaluationPlan,
  answer: AdvanceAnswer | undefined,
): Recorded {
  if (answer === undefined) throw new Error('the window store did not answer for every batch');
  const { states, metrics, windowGap: gap } = ports;
  const folding = fold(plan, answer);
  const { readings, degraded } = folding;
  const { tenantId, agentId, nowMs } = plan.request;
  const key = { tenantId, agentId, lastEvaluatedAt: formatTime(nowMs) };
  for (const { rule, value } of readings) {
    if (degraded.length > 0 && degraded.some((one) => one.rule === rule)) continue;
    const degradedReason = gap?.open ? gap.reason(findSeries(plan, rule), nowMs) : null;
    states.record({ ...key, ruleId: rule.id, currentValue: value, degradedReason });
  }
  for (const { rule, reason } of degraded) {
    states.record({ ...key, ruleId: rule.id, currentValue: null, degradedReason: reason.slice(0, 500) });
    metrics.degraded(rule.conditionType);
  }
  return { plan, folding, states: 'recorded' };
}

/**
 * Claims the cooldowns of the candidates and publishes the triggers that got theirs. Returns the number of late values.
 *
 * @throws StateUnavailable, BusUnavailable if the batch has to be evaluated again
 */
export async function trigger(
  { publisher, metrics }: Pick<EvaluationPorts, 'publisher' | 'metrics'>,
  { folding: { candidates, stops, late } }: Recorded,
): Promise<number> {
  if (candidates.length === 0) return late;
  const admitted = await publisher.claim(candidates.map((candidate) => candidate.trigger));
  await publisher.publish(admitted);
  const refused = candidates.length - admitted.length;
  metrics.stopped(refused === 0 ? stops : { ...stops, claim_refused: refused });
  return late;
}

/** Counts why rules did not trigger, over the plans of a step that have no candidates. */
export function countStops({ metrics }: Pick<EvaluationPorts, 'metrics'>, step: readonly Recorded[]): void {
  const sum: StopCounts = {};
  for (const { folding } of step) {
    if (folding.candidates.length > 0) continue;
    for (const [reason, times] of Object.entries(folding.stops) as [keyof StopCounts, number][]) {
      sum[reason] = (sum[reason] ?? 0) + times;
    }
  }
  metrics.stopped(sum);
}

/** Formats times. The plans of a batch have the same time, so the last result is cached. */
export function formatTimes(): (ms: number) => string {
  let last = { ms: Number.NaN, text: '' };
  return (ms) => {
    if (ms !== last.ms) last = { ms, text: new Date(ms).toISOString() };
    return last.text;
  };
}

/** The series of a plan that a rule reads. */
function findSeries({ measurements, request }: EvaluationPlan, rule: EventRule): readonly Series[] {
  const read = measurements.find((one) => one.rule === rule && one.series !== null)?.series ?? [];
  return read.flatMap((index) => request.series[index] ?? []);
}

/** Claims cooldowns of triggers and publishes them. Safe to repeat, because ids and claims stay the same. */
export class TriggerPublisher {
  readonly #cooldowns: Pick<CooldownStore, 'claim' | 'rearm'>;
  readonly #bus: EventBus;
  readonly #metrics: EvaluatorMetrics;

  constructor(cooldowns: Pick<CooldownStore, 'claim' | 'rearm'>, bus: EventBus, metrics: EvaluatorMetrics) {
    this.#cooldowns = cooldowns;
    this.#bus = bus;
    this.#metrics = metrics;
  }

  /** Publishes the candidates that get their cooldown. @throws StateUnavailable, BusUnavailable if it has to be repeated */
  async admit(candidates: readonly Trigger[]): Promise<void> {
    await this.publish(await this.claim(candidates));
  }

  /** Claims cooldowns in order. Returns the triggers that got theirs. @throws StateUnavailable */
  async claim(candidates: readonly Trigger[]): Promise<readonly Trigger[]> {
    const admitted: Trigger[] = [];
    for (const trigger of candidates) if (await this.#claimed(trigger)) admitted.push(trigger);
    return admitted;
  }

  /** Ends the cooldowns of these rules for an agent. @throws StateUnavailable */
  async rearm(rearming: Rearming): Promise<void> {
    await this.#cooldowns.rearm(rearming);
  }

  /** @throws BusUnavailable if a trigger was not published */
  async publish(admitted: readonly Trigger[]): Promise<void> {
    await Promise.all(admitted.map((trigger) => this.#publish(trigger)));
  }

  #claimed(trigger: Trigger): Promise<boolean> | boolean {
    const claim = claimOf(trigger);
    return claim === null || this.#cooldowns.claim(claim);
  }

  async #publish(trigger: Trigger): Promise<void> {
    const { duplicate } = await this.#bus.publish(guardrailTriggered, trigger);
    if (!duplicate) this.#metrics.triggered(trigger.conditionType, trigger.dryRun);
  }
}
