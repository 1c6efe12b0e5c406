import { type EventBatch, factsOfMessage, tenantOfEvents } from '@agentlens/contracts';
import {
  ACK,
  backOff,
  BusUnavailable,
  type HandlingOutcome,
  type Received,
  settleAll,
  UnreadableMessage,
} from '@agentlens/messaging';
import type { Platform } from '@agentlens/platform';
import { StateUnavailable } from '@agentlens/state';
import type { BatchEvaluator, EvaluationRound } from './evaluation/batch-evaluator.ts';
import type { EvaluationMarks } from './evaluation/evaluation-marks.ts';
import { Rounds } from './evaluation/rounds.ts';

const MOST_FAILURES = 5;
const MOST_REMEMBERED = 1_000;

/**
 * What is to become of a message whose evaluation failed. A store or broker that is away says nothing against the
 * message: it waits. What cannot be read now cannot be read later. Anything else is a bug that this message brings
 * out: after a few tries it becomes a dead letter instead of holding up the others for ever.
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
    if (failures >= MOST_FAILURES) {
      this.#counts.delete(messageId);
      return { kind: 'poison', reason: `evaluation failed ${failures} times: ${reason}` };
    }
    if (this.#counts.size >= MOST_REMEMBERED) this.#counts.clear();
    this.#counts.set(messageId, failures);
    return { kind: 'retry', afterMs: backOff(attempt), reason };
  }

  /** The message was evaluated after all. */
  forget(messageId: string): void {
    this.#counts.delete(messageId);
  }
}

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
