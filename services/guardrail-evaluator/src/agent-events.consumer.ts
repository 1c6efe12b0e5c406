import { agentEvents, type EventBatch, GROUPS } from '@agentlens/contracts';
import { ACK, type EventBus, type Outcome, type Received, type Subscription } from '@agentlens/messaging';
import type { Platform } from '@agentlens/platform';
import type { BatchEvaluator } from './evaluation/batch-evaluator.ts';
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
    this.#rounds = new Rounds(evaluator);
  }

  async start(): Promise<void> {
    // The wait is how long a batch lies when an evaluator dies; running handlers extend it.
    this.#subscription = await this.bus.consume(
      agentEvents,
      { group: GROUP, maxBatch: 1, concurrency: IN_HAND, ackWaitMs: 5_000 },
      (messages) => this.#handleAll(messages),
    );
  }

  async stop(): Promise<void> {
    await this.#subscription?.close();
  }

  async #handleAll(messages: readonly Received<EventBatch>[]): Promise<readonly Outcome[]> {
    const outcomes = await Promise.all(messages.map((message) => this.#handle(message)));
    await this.marks?.add(messages.filter((_, index) => outcomes[index]?.kind === 'ack'));
    return outcomes;
  }

  async #handle({ value: batch, messageId, attempt }: Received<EventBatch>): Promise<Outcome> {
    try {
      await this.#work(batch, attempt);
      this.#failures.forget(messageId);
      return ACK;
    } catch (error) {
      const outcome = this.#failures.outcome(messageId, attempt, error);
      this.logger.warn(
        { err: error, tenantId: batch.tenantId, messageId, attempt },
        `batch not evaluated: ${outcome.kind}`,
      );
      return outcome;
    }
  }

  /** All of it is waited for, so that nothing of a failed batch is still going on when it is asked for again. */
  async #work(batch: EventBatch, attempt: number): Promise<void> {
    const results = await Promise.allSettled([
      this.#evaluate(batch, attempt),
      ...this.works.map((work) => work(batch)),
    ]);
    const failure = results.find((result) => result.status === 'rejected');
    if (failure !== undefined) throw failure.reason;
  }

  /** By itself once it has failed: whatever is wrong with it must not fail the others of its round again. */
  #evaluate(batch: EventBatch, attempt: number): Promise<void> {
    return attempt > 1 ? this.evaluator.evaluate(batch) : this.#rounds.evaluate(batch);
  }
}
