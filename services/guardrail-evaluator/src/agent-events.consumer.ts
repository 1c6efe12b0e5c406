import { type EventBatch, factsOfMessage, tenantOfEvents } from '@agentlens/contracts';
import {
  ACK,
  BusUnavailable,
  backOff,
  type HandlingOutcome,
  type Received,
  settleAll,
  UnreadableMessage,
} from '@agentlens/messaging';
import type { Platform } from '@agentlens/platform';
import { StateUnavailable } from '@agentlens/state';
import type { EvaluationMarks } from './evaluation/evaluation-marks.ts';
import type { EvaluationPipeline, EvaluationRound } from './evaluation/evaluation-pipeline.ts';
import { Rounds } from './evaluation/rounds.ts';

const MAX_FAILURES = 5;
const MAX_TRACKED_MESSAGES = 1_000;

/**
 * Decides what happens to a message whose evaluation failed. If the store or the broker is unavailable, the message is
 * retried. An unreadable message becomes a dead letter at once. Any other error is a bug that this message triggers:
 * after a few attempts the message becomes a dead letter, so that it does not block the others.
 */
export class Failures {
  readonly #counts = new Map<string, number>();

  outcome(messageId: string, attempt: number, error: unknown): HandlingOutcome {
    const reason = error instanceof Error ? error.message : String(error);
    if (error instanceof UnreadableMessage) return { kind: 'poison', reason };
    if (error instanceof BusUnavailable) {
      return { kind: 'retry', afterMs: Math.max(error.afterMs, backOff(attempt)), reason };
    }
    if (error instanceof StateUnavailable) return { kind: 'retry', afterMs: Math.min(backOff(attempt), 2_000), reason };
    const failures = (this.#counts.get(messageId) ?? 0) + 1;
    if (failures >= MAX_FAILURES) {
      this.#counts.delete(messageId);
      return { kind: 'poison', reason: `evaluation failed ${failures} times: ${reason}` };
    }
    if (this.#counts.size >= MAX_TRACKED_MESSAGES) this.#counts.clear();
    this.#counts.set(messageId, failures);
    return { kind: 'retry', afterMs: backOff(attempt), reason };
  }

  /** Clears the failure count of a message that was evaluated. */
  forget(messageId: string): void {
    this.#counts.delete(messageId);
  }
}

/** Work to do on every batch. Must be idempotent, because a batch can be redelivered. */
export type BatchWork = (batch: EventBatch) => Promise<void>;

/** Consumes batches of events from the stream, evaluates them and counts them. */
export class AgentEventsConsumer {
  readonly #failures = new Failures();
  readonly #rounds: Rounds;

  constructor(
    private readonly evaluator: Pick<EvaluationPipeline, 'begin' | 'evaluate'>,
    private readonly batchWork: readonly BatchWork[],
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
      this.logger.warn({ err: error, tenantId, messageId, attempt }, `batch evaluation failed: ${outcome.kind}`);
      return outcome;
    }
  }

  /** A redelivered message is evaluated alone, so that it cannot fail the other messages of its round again. */
  async #evaluate(message: Received<EventBatch>): Promise<void> {
    if (message.attempt > 1) {
      await this.#withBatchWork(message.value, this.evaluator.evaluate(message.value));
      return;
    }
    const tenantId = tenantOfEvents(message.subject);
    const { events } = factsOfMessage(message);
    await this.#rounds.evaluate({ tenantId, events, read: () => message.value });
  }

  #begin(batches: readonly EventBatch[]): EvaluationRound {
    const { measured, done } = this.evaluator.begin(batches);
    return { measured, done: batches.map((batch, at) => this.#withBatchWork(batch, done[at] ?? Promise.resolve())) };
  }

  async #withBatchWork(batch: EventBatch, evaluated: Promise<void>): Promise<void> {
    await settleAll([evaluated, ...this.batchWork.map((work) => work(batch))]);
  }
}
