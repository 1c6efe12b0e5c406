import { agentEvents, type EventBatch, factsOfMessage, GROUPS, tenantOfEvents } from '@agentlens/contracts';
import {
  ACK,
  type EventBus,
  type HandlingOutcome,
  type Received,
  type Subscription,
  settleAll,
} from '@agentlens/messaging';
import type { Platform } from '@agentlens/platform';
import type { BatchEvaluator, EvaluationRound } from './evaluation/batch-evaluator.ts';
import type { EvaluationMarks } from './evaluation/evaluation-marks.ts';
import { Failures } from './evaluation/failures.ts';
import { Rounds } from './evaluation/rounds.ts';

export const GROUP = GROUPS.guardrailEvaluator;

/** Batches that are here at once. Which of them is next is decided here, so that the loudest tenant does not. */
const IN_HAND = 128;

/** Something that is done with every batch. May be done again with the same batch at any time. */
export type BatchWork = (batch: EventBatch) => Promise<void>;

/** Takes batches of events from the stream and has them evaluated and counted. */
export class AgentEventsConsumer {
  readonly #failures = new Failures();
  readonly #rounds: Rounds;
  #subscription: Subscription | undefined;

  constructor(
    private readonly bus: EventBus,
    private readonly evaluator: Pick<BatchEvaluator, 'begin' | 'evaluate'>,
    private readonly works: readonly BatchWork[],
    private readonly logger: Platform['logger'],
    private readonly marks?: EvaluationMarks,
  ) {
    this.#rounds = new Rounds({ begin: (batches) => this.#begin(batches) });
  }

  async start(): Promise<void> {
    // The wait is how long a batch lies when an evaluator dies; running handlers extend it.
    this.#subscription = await this.bus.consume(
      agentEvents,
      { group: GROUP, maxBatch: 1, concurrency: IN_HAND, ackWaitMs: 5_000, lazy: true },
      (messages) => this.#handleAll(messages),
    );
  }

  async stop(): Promise<void> {
    await this.#subscription?.close();
  }

  async #handleAll(messages: readonly Received<EventBatch>[]): Promise<readonly HandlingOutcome[]> {
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
