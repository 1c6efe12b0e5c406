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

/** Batches whose evaluation has begun. */
export interface EvaluationRound {
  /** Everything is counted and measured; only triggers may still be on their way. */
  readonly measured: Promise<unknown>;
  /**
   * Per batch, in order: its triggers are published.
   * @throws StateUnavailable, BusUnavailable: the batch is to be evaluated again
   */
  readonly done: readonly Promise<void>[];
}

/** What one batch of a round holds of one agent; it concludes with how many values came too late. */
interface Share {
  readonly plan: EvaluationPlan;
  readonly concluded: PromiseWithResolvers<number>;
}

/** Shares that are counted in one step, during which the store does nothing else. */
const STEP = 32;

/**
 * Evaluates batches of events against the rules in force. Every step may be repeated after a crash at any point: the
 * window store answers a batch it has seen as before, from which follow the same triggers, which hold their own
 * cooldowns and are published under the same ids.
 */
export class BatchEvaluator {
  readonly #parts: BatchEvaluatorDependencies;
  #lastTime = { ms: Number.NaN, text: '' };

  constructor(parts: BatchEvaluatorDependencies) {
    this.#parts = parts;
  }

  /** One batch by itself. @throws StateUnavailable, BusUnavailable: the batch is to be evaluated again */
  async evaluate(batch: EventBatch): Promise<void> {
    await Promise.all(this.begin([batch]).done);
  }

  /** Counts batches without concluding anything from them; what was counted before stays as it is. */
  async recount(batches: readonly EventBatch[]): Promise<void> {
    const requests = batches.flatMap((batch) => planBatch(this.#parts.rules.book, batch)).map(({ request }) => request);
    await Promise.all(
      stepsOf(requests, ({ tenantId }) => tenantId).map((step) => this.#parts.windows.advanceAll(step)),
    );
  }

  /** Batches are counted for each agent in the order they are given, rounds in the order they begin. */
  begin(batches: readonly EventBatch[]): EvaluationRound {
    const shares: Share[] = [];
    const parts = batches.map((batch) => this.#share(batch, shares));
    const steps = stepsOf(shares, ({ plan }) => plan.request.tenantId).map((step) => this.#count(step));
    return {
      measured: Promise.allSettled(steps),
      done: batches.map((batch, index) => this.#done(batch, parts[index] ?? [])),
    };
  }

  /** Adds a batch's shares to those of the others; answers when each of them is concluded. */
  #share(batch: EventBatch, shares: Share[]): readonly Promise<number>[] {
    try {
      return planBatch(this.#parts.rules.book, batch).map((plan) => {
        const share = { plan, concluded: Promise.withResolvers<number>() };
        shares.push(share);
        return share.concluded.promise;
      });
    } catch (error) {
      // What is wrong with one batch is no concern of the others.
      return [Promise.reject(error)];
    }
  }

  async #done({ receivedAt }: EventBatch, parts: readonly Promise<number>[]): Promise<void> {
    if (parts.length === 0) return;
    // Counted only now: of a batch that is evaluated again the same values are late again.
    for (const late of await settleAll(parts)) this.#parts.drops.dropped('late_value', late);
    this.#parts.metrics.evaluated(this.#parts.clock.now() - Date.parse(receivedAt));
  }

  /** Counts shares in one step. What one of them triggers is published while the next is measured. */
  async #count(shares: readonly Share[]): Promise<void> {
    try {
      const answers = await this.#parts.windows.advanceAll(shares.map(({ plan }) => plan.request));
      const stops: StopCounts = {};
      for (const [at, share] of shares.entries()) this.#conclude(share, answers[at], stops);
      this.#parts.metrics.stopped(stops);
    } catch (error) {
      for (const { concluded } of shares) concluded.reject(error);
    }
  }

  /** @param stops grows by those of a share that triggers nothing, as most do */
  #conclude({ plan, concluded }: Share, answer: AdvanceAnswer | undefined, stops: StopCounts): void {
    try {
      if (answer === undefined) throw new Error('the window store did not answer for every batch');
      const folding = fold(plan, answer);
      // At once: while a trigger is on its way, windows that were lost may become whole, and this was measured before.
      this.#record(plan, folding);
      if (folding.candidates.length > 0) {
        this.#trigger(folding).then(concluded.resolve, concluded.reject);
        return;
      }
      addStops(stops, folding.stops);
      concluded.resolve(folding.late);
    } catch (error) {
      // What is wrong with one share is no concern of the others.
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

  /** The shares of a batch have its time. */
  #textOf(nowMs: number): string {
    if (nowMs !== this.#lastTime.ms) this.#lastTime = { ms: nowMs, text: new Date(nowMs).toISOString() };
    return this.#lastTime.text;
  }

  /** Why a rule's value is less than it should be; null: it is not. */
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

/** What is of one tenant, in its order, in steps of what the store does at once. */
function stepsOf<T>(list: readonly T[], tenantOf: (one: T) => string): T[][] {
  return [...Map.groupBy(list, tenantOf).values()].flatMap((own) =>
    Array.from({ length: Math.ceil(own.length / STEP) }, (_, step) => own.slice(step * STEP, (step + 1) * STEP)),
  );
}

/** What a rule reads of a plan's windows. */
function seriesOf({ measurements, request }: EvaluationPlan, rule: EventRule): readonly Series[] {
  const read = measurements.find((one) => one.rule === rule && one.series !== null)?.series ?? [];
  return read.flatMap((index) => request.series[index] ?? []);
}
