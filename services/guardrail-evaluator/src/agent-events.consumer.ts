import { type EventBatch, factsOfMessage, tenantOfEvents } from '@agentlens/contracts';
import { ACK, type HandlingOutcome, type Received, settleAll } from '@agentlens/messaging';
import type { Platform } from '@agentlens/platform';
import type { BatchEvaluator, EvaluationRound } from './evaluation/batch-evaluator.ts';
import type { EvaluationMarks } from './evaluation/evaluation-marks.ts';
import { Failures } from './evaluation/failures.ts';
import { Rounds } from './evaluation/rounds.ts';

/** Something that is done with every batch. May be done again with the same batch at any time. */
export type BatchWork = (batch: EventBatch) => Promise<void>;

/** Takes batches of events from the stream and has them evaluated and counted. */
export class AgentEventsConsumer {
  readonly #failures = new Failures();
  readonly #rounds: Rounds;

  constructor(
    private readonly evaluator: Pick<BatchEvaluator, 'begin' | 'evaluate'>,
    private readonly works: readonly BatchWork[],
    private readonly logger: Platform['logger'],
    private readonly marks?: EvaluationMarks,
  ) {
    this.#rounds = new Rounds({ begin: (batches) => this.#begin(batches) });
  }

  async take(messages: readonly Received<EventBatch>[]): Promise<readonly HandlingOutcome[]> {
    const outcomes = await Promise.all(messages.map((message) => this.#handle(message)));
    await this.marks?.add(messages.filter((_, index) => outcomes[index]?.kind === 'ack'));
    return outcomes;
  }

  async #handle(message: Received<EventBatch>): Promise<HandlingOutcome> {
    const { messageId, attempt } = message;
    try {
      await this.#evaluate(message);
      this.#failures.forget(messageId);
      return ACK;
    } catch (error) {
      const outcome = this.#failures.outcome(messageId, attempt, error);
      const tenantId = tenantOfEvents(message.subject);
      this.logger.warn({ err: error, tenantId, messageId, attempt }, `batch not evaluated: ${outcome.kind}`);
      return outcome;
    }
  }

  /** By itself once it has failed: whatever is wrong with it must not fail the others of its round again. */
  async #evaluate(message: Received<EventBatch>): Promise<void> {
    if (message.attempt > 1) {
      await this.#withWorks(message.value, this.evaluator.evaluate(message.value));
      return;
    }
    const tenantId = tenantOfEvents(message.subject);
    const { events } = factsOfMessage(message);
    await this.#rounds.evaluate({ tenantId, events, read: () => message.value });
  }

  #begin(batches: readonly EventBatch[]): EvaluationRound {
    const { measured, done } = this.evaluator.begin(batches);
    return { measured, done: batches.map((batch, at) => this.#withWorks(batch, done[at] ?? Promise.resolve())) };
  }

  async #withWorks(batch: EventBatch, evaluated: Promise<void>): Promise<void> {
    await settleAll([evaluated, ...this.works.map((work) => work(batch))]);
  }
}
