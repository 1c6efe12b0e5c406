import type { EventBatch } from '@agentlens/contracts';
import { type EvaluationPlan, planBatch } from '@agentlens/guardrails';
import { settleAll } from '@agentlens/messaging';
import {
  countStops,
  type EvaluationPorts,
  formatTimes,
  groupInSteps,
  measure,
  type Recorded,
  trigger,
} from './evaluation-steps.ts';

/** The events of one agent in one batch. */
interface AgentSlice {
  readonly plan: EvaluationPlan;
  /** Settles with the number of late values when the triggers are published. */
  readonly concluded: PromiseWithResolvers<number>;
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

/**
 * Evaluates batches of events against the active rules. Every step can be repeated after a crash at any point: for a
 * batch it has seen, the window store returns the same answer as before. The same triggers follow from it; they already
 * hold their cooldowns and are published under the same ids.
 */
export class EvaluationPipeline {
  readonly #ports: EvaluationPorts;
  readonly #formatTime = formatTimes();

  constructor(ports: EvaluationPorts) {
    this.#ports = ports;
  }

  /** Evaluates a batch alone. @throws StateUnavailable, BusUnavailable if the batch has to be evaluated again */
  async evaluate(batch: EventBatch): Promise<void> {
    await Promise.all(this.begin([batch]).done);
  }

  /** Counts batches without triggering. Batches that were counted before are not counted again. */
  async recount(batches: readonly EventBatch[]): Promise<void> {
    const { rules, windows } = this.#ports;
    const requests = batches.flatMap((batch) => planBatch(rules.book, batch)).map(({ request }) => request);
    await Promise.all(groupInSteps(requests, ({ tenantId }) => tenantId).map((step) => windows.advanceAll(step)));
  }

  /** Starts a round. For each agent, batches are counted in the given order, and rounds in the order they start. */
  begin(batches: readonly EventBatch[]): EvaluationRound {
    const planned = batches.map((batch) => this.#plan(batch));
    const slices = planned.flatMap((own) => own.slices);
    const steps = groupInSteps(slices, ({ plan: { request } }) => request.tenantId);
    const measured = Promise.all(steps.map((step) => this.#evaluate(step)));
    const concluded = planned.map((own) =>
      'error' in own ? [Promise.reject<number>(own.error)] : own.slices.map((slice) => slice.concluded.promise),
    );
    return { measured, done: batches.map((batch, index) => this.#done(batch, concluded[index] ?? [])) };
  }

  /** Splits a batch by agent and finds the rules and counters of each. An error must not affect the other batches. */
  #plan(batch: EventBatch): { readonly slices: readonly AgentSlice[]; readonly error?: unknown } {
    try {
      const plans = planBatch(this.#ports.rules.book, batch);
      return { slices: plans.map((plan) => ({ plan, concluded: Promise.withResolvers() })) };
    } catch (error) {
      return { slices: [], error };
    }
  }

  /** Counts the slices of a step in one call to the store, and measures them. Triggers are published meanwhile. */
  async #evaluate(step: readonly AgentSlice[]): Promise<void> {
    const ports = this.#ports;
    try {
      const answers = await ports.windows.advanceAll(step.map(({ plan }) => plan.request));
      const recorded: Recorded[] = [];
      for (const [at, { plan, concluded }] of step.entries()) {
        // An error in one slice must not affect the others.
        try {
          const one = measure(ports, this.#formatTime, plan, answers[at]);
          recorded.push(one);
          trigger(ports, one).then(concluded.resolve, concluded.reject);
        } catch (error) {
          concluded.reject(error);
        }
      }
      countStops(ports, recorded);
    } catch (error) {
      for (const { concluded } of step) concluded.reject(error);
    }
  }

  async #done({ receivedAt }: EventBatch, slices: readonly Promise<number>[]): Promise<void> {
    if (slices.length === 0) return;
    const { clock, drops, metrics } = this.#ports;
    // Counted only now, because a batch that is evaluated again has the same late values again.
    for (const late of await settleAll(slices)) drops.dropped('late_value', late);
    metrics.evaluated(clock.now() - Date.parse(receivedAt));
  }
}
