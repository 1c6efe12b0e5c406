import type { EventBatch } from '@agentlens/contracts';
import {
  type AdvanceAnswer,
  type EvaluationPlan,
  type EventRule,
  type Folding,
  fold,
  planBatch,
  type RuleBook,
  type Series,
  type StopCounts,
  type WindowStore,
} from '@agentlens/guardrails';
import { settleAll } from '@agentlens/messaging';
import type { Clock } from '@agentlens/platform';
import type { EvaluatorDropMetrics } from '../drop-metrics.ts';
import type { StateRecorder } from '../states/state-recorder.ts';
import type { EvaluatorMetrics } from './evaluator-metrics.ts';
import type { TriggerPublisher } from './trigger-publisher.ts';
import type { WindowGap } from './window-gap.ts';

interface BatchEvaluatorDependencies {
  readonly rules: { readonly book: RuleBook };
  readonly windows: WindowStore;
  readonly publisher: TriggerPublisher;
  readonly states: Pick<StateRecorder, 'record'>;
  readonly metrics: EvaluatorMetrics;
  readonly drops: Pick<EvaluatorDropMetrics, 'dropped'>;
  readonly clock: Clock;
  readonly windowGap?: Pick<WindowGap, 'open' | 'reason'>;
}

/** A group of batches whose evaluation has started. */
export interface EvaluationRound {
  /** Settles when everything is counted and measured. Triggers may still be in progress. */
  readonly measured: Promise<unknown>;
  /**
   * One promise per batch, in order, which resolves when its triggers are published.
   * @throws StateUnavailable, BusUnavailable if the batch has to be evaluated again
   */
  readonly done: readonly Promise<void>[];
}

/** The events of one agent in one batch of a round. `concluded` resolves to the number of late values. */
interface AgentSlice {
  readonly plan: EvaluationPlan;
  readonly concluded: PromiseWithResolvers<number>;
}

/** Slices counted in one step. The store handles nothing else during a step. */
const STEP = 32;

/**
 * Evaluates batches of events against the active rules. Every step can be repeated after a crash at any point: for a
 * batch it has seen, the window store returns the same answer as before. The same triggers follow from it; they already
 * hold their cooldowns and are published under the same ids.
 */
export class BatchEvaluator {
  readonly #parts: BatchEvaluatorDependencies;
  #lastTime = { ms: Number.NaN, text: '' };

  constructor(parts: BatchEvaluatorDependencies) {
    this.#parts = parts;
  }

  /** Evaluates a batch alone. @throws StateUnavailable, BusUnavailable if the batch has to be evaluated again */
  async evaluate(batch: EventBatch): Promise<void> {
    await Promise.all(this.begin([batch]).done);
  }

  /** Counts batches without triggering. Batches that were counted before are not counted again. */
  async recount(batches: readonly EventBatch[]): Promise<void> {
    const requests = batches.flatMap((batch) => planBatch(this.#parts.rules.book, batch)).map(({ request }) => request);
    await Promise.all(
      stepsOf(requests, ({ tenantId }) => tenantId).map((step) => this.#parts.windows.advanceAll(step)),
    );
  }

  /** Starts a round. For each agent, batches are counted in the given order, and rounds in the order they start. */
  begin(batches: readonly EventBatch[]): EvaluationRound {
    const slices: AgentSlice[] = [];
    const parts = batches.map((batch) => this.#sliceByAgent(batch, slices));
    const steps = stepsOf(slices, ({ plan }) => plan.request.tenantId).map((step) => this.#count(step));
    return {
      measured: Promise.allSettled(steps),
      done: batches.map((batch, index) => this.#done(batch, parts[index] ?? [])),
    };
  }

  /**
   * Adds the slices of a batch to `slices`. Returns one promise per slice, which resolves when the slice is concluded.
   */
  #sliceByAgent(batch: EventBatch, slices: AgentSlice[]): readonly Promise<number>[] {
    try {
      return planBatch(this.#parts.rules.book, batch).map((plan) => {
        const slice = { plan, concluded: Promise.withResolvers<number>() };
        slices.push(slice);
        return slice.concluded.promise;
      });
    } catch (error) {
      // An error in one batch must not affect the others.
      return [Promise.reject(error)];
    }
  }

  async #done({ receivedAt }: EventBatch, parts: readonly Promise<number>[]): Promise<void> {
    if (parts.length === 0) return;
    // Counted only now, because a batch that is evaluated again has the same late values again.
    for (const late of await settleAll(parts)) this.#parts.drops.dropped('late_value', late);
    this.#parts.metrics.evaluated(this.#parts.clock.now() - Date.parse(receivedAt));
  }

  /** Counts slices in one step. Triggers of one slice are published while the next slice is measured. */
  async #count(slices: readonly AgentSlice[]): Promise<void> {
    try {
      const answers = await this.#parts.windows.advanceAll(slices.map(({ plan }) => plan.request));
      const stops: StopCounts = {};
      for (const [at, slice] of slices.entries()) this.#conclude(slice, answers[at], stops);
      this.#parts.metrics.stopped(stops);
    } catch (error) {
      for (const { concluded } of slices) concluded.reject(error);
    }
  }

  /** @param stops collects the stops of a slice that triggers nothing, the usual case */
  #conclude({ plan, concluded }: AgentSlice, answer: AdvanceAnswer | undefined, stops: StopCounts): void {
    try {
      if (answer === undefined) throw new Error('the window store did not answer for every batch');
      const folding = fold(plan, answer);
      // Recorded at once: lost windows may become complete while a trigger is being published, but this was measured
      // before.
      this.#record(plan, folding);
      if (folding.candidates.length > 0) {
        this.#trigger(folding).then(concluded.resolve, concluded.reject);
        return;
      }
      addStops(stops, folding.stops);
      concluded.resolve(folding.late);
    } catch (error) {
      // An error in one slice must not affect the others.
      concluded.reject(error);
    }
  }

  async #trigger(folding: Folding): Promise<number> {
    const { publisher, metrics } = this.#parts;
    const { refused } = await publisher.admit(folding.candidates.map(({ trigger }) => trigger));
    metrics.stopped(refused === 0 ? folding.stops : { ...folding.stops, claim_refused: refused });
    return folding.late;
  }

  #record(plan: EvaluationPlan, { readings, degraded }: Folding): void {
    const { tenantId, agentId, nowMs } = plan.request;
    const key = { tenantId, agentId, lastEvaluatedAt: this.#textOf(nowMs) };
    for (const { rule, value } of readings) {
      if (degraded.length > 0 && degraded.some((one) => one.rule === rule)) continue;
      const degradedReason = this.#gapOf(plan, rule);
      this.#parts.states.record({ ...key, ruleId: rule.id, currentValue: value, degradedReason });
    }
    for (const { rule, reason } of degraded) {
      this.#parts.states.record({ ...key, ruleId: rule.id, currentValue: null, degradedReason: reason.slice(0, 500) });
      this.#parts.metrics.degraded(rule.conditionType);
    }
  }

  /** Formats a time. The slices of a batch have the same time, so the last result is cached. */
  #textOf(nowMs: number): string {
    if (nowMs !== this.#lastTime.ms) this.#lastTime = { ms: nowMs, text: new Date(nowMs).toISOString() };
    return this.#lastTime.text;
  }

  /** Why the value of a rule is too low; null if it is not. */
  #gapOf(plan: EvaluationPlan, rule: EventRule): string | null {
    const gap = this.#parts.windowGap;
    return gap?.open ? gap.reason(seriesOf(plan, rule), plan.request.nowMs) : null;
  }
}

function addStops(sum: StopCounts, stops: StopCounts): void {
  for (const [reason, times] of Object.entries(stops) as [keyof StopCounts, number][]) {
    sum[reason] = (sum[reason] ?? 0) + times;
  }
}

/** Groups a list by tenant, in order, into steps of at most `STEP` items. */
function stepsOf<T>(list: readonly T[], tenantOf: (one: T) => string): T[][] {
  return [...Map.groupBy(list, tenantOf).values()].flatMap((own) =>
    Array.from({ length: Math.ceil(own.length / STEP) }, (_, step) => own.slice(step * STEP, (step + 1) * STEP)),
  );
}

/** The series of a plan that a rule reads. */
function seriesOf({ measurements, request }: EvaluationPlan, rule: EventRule): readonly Series[] {
  const read = measurements.find((one) => one.rule === rule && one.series !== null)?.series ?? [];
  return read.flatMap((index) => request.series[index] ?? []);
}
