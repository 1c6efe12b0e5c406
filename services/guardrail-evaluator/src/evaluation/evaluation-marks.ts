import type { EventBatch } from '@agentlens/contracts';
import { observeQueue, type Received } from '@agentlens/messaging';
import type { EvaluatedMessage, EvaluationTally } from '@agentlens/state';

/** Marks that could not be written are kept for the next time; more than this would be a long outage of Redis. */
const MOST_OWED = 20_000;

/**
 * Tells the auditor what was evaluated, before it is acknowledged: a message that was not told of comes again. The
 * auditor watches, so it holds nothing up: without Redis the marks wait here and the messages are settled.
 */
export class EvaluationMarks {
  #owed: readonly EvaluatedMessage[] = [];
  #telling: Promise<void> | undefined;

  constructor(
    private readonly tally: EvaluationTally,
    private readonly onError: (error: unknown) => void,
    /** So many will not be told of. */
    private readonly onDropped: (count: number) => void,
    private readonly mostOwed = MOST_OWED,
  ) {
    observeQueue({ name: 'evaluation_marks', capacity: mostOwed, size: () => this.#owed.length });
  }

  /** What is evaluated together is told together. Never throws. */
  add(messages: readonly Received<EventBatch>[]): Promise<void> {
    if (messages.length > 0) this.#owed = [...this.#owed, ...messages.map(markOf)];
    this.#telling ??= Promise.resolve().then(() => this.#tell());
    return this.#telling;
  }

  async #tell(): Promise<void> {
    this.#telling = undefined;
    const marks = this.#owed;
    if (marks.length === 0) return;
    this.#owed = [];
    try {
      await this.tally.add(marks);
    } catch (error) {
      const owed = [...marks, ...this.#owed];
      this.#owed = owed.slice(-this.mostOwed);
      if (owed.length > this.#owed.length) this.onDropped(owed.length - this.#owed.length);
      this.onError(error);
    }
  }
}

function markOf({ value: { tenantId, receivedAt, events }, sequence }: Received<EventBatch>): EvaluatedMessage {
  return { tenantId, receivedAtMs: Date.parse(receivedAt), sequence, events: events.length };
}
