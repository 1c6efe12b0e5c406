import type { EventBatch } from '@agentlens/contracts';
import { planBatch } from '@agentlens/guardrails';
import { settleAll } from '@agentlens/messaging';
import { type PipelineStage, runStages } from '@agentlens/platform';
import {
  advance,
  claim,
  countStops,
  type EvaluationPorts,
  fold,
  forEachSlice,
  inSteps,
  plan,
  publish,
  type Round,
  record,
  stepsOf,
} from './evaluation-stages.ts';

/** The evaluation of a round of batches. A slice is the events of one agent in one batch; a step is up to 32 slices. */
function stagesOf(ports: EvaluationPorts): readonly PipelineStage<Round>[] {
  return [
    plan(ports),
    inSteps([advance(ports), forEachSlice([fold, record(ports), claim(ports), publish(ports)]), countStops(ports)]),
  ];
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
 * Evaluates batches of events against the active rules. Every stage can be repeated after a crash at any point: for a
 * batch it has seen, the window store returns the same answer as before. The same triggers follow from it; they already
 * hold their cooldowns and are published under the same ids.
 */
export class EvaluationPipeline {
  readonly #ports: EvaluationPorts;
  readonly #stages: readonly PipelineStage<Round>[];

  constructor(ports: EvaluationPorts) {
    this.#ports = ports;
    this.#stages = stagesOf(ports);
  }

  /** Evaluates a batch alone. @throws StateUnavailable, BusUnavailable if the batch has to be evaluated again */
  async evaluate(batch: EventBatch): Promise<void> {
    await Promise.all(this.begin([batch]).done);
  }

  /** Counts batches without triggering. Batches that were counted before are not counted again. */
  async recount(batches: readonly EventBatch[]): Promise<void> {
    const { rules, windows } = this.#ports;
    const requests = batches.flatMap((batch) => planBatch(rules.book, batch)).map(({ request }) => request);
    await Promise.all(stepsOf(requests, ({ tenantId }) => tenantId).map((step) => windows.advanceAll(step)));
  }

  /** Starts a round. For each agent, batches are counted in the given order, and rounds in the order they start. */
  begin(batches: readonly EventBatch[]): EvaluationRound {
    const round: Round = { batches, slices: [], concluded: [] };
    const measured = runStages(this.#stages, round);
    return { measured, done: batches.map((batch, index) => this.#done(batch, round.concluded[index] ?? [])) };
  }

  async #done({ receivedAt }: EventBatch, slices: readonly Promise<number>[]): Promise<void> {
    if (slices.length === 0) return;
    const { clock, drops, metrics } = this.#ports;
    // Counted only now, because a batch that is evaluated again has the same late values again.
    for (const late of await settleAll(slices)) drops.dropped('late_value', late);
    metrics.evaluated(clock.now() - Date.parse(receivedAt));
  }
}
