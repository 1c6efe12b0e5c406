import type { EventBatch } from '@agentlens/contracts';
import { observeQueue, type Received } from '@agentlens/messaging';
import type { EvaluatedMessage, EvaluationTally } from '@agentlens/state';

/** Maximum number of unwritten marks kept for the next attempt. Only a long outage of Redis exceeds it. */
const MAX_OWED_MARKS = 20_000;

/**
 * Reports evaluated messages to the auditor before they are acknowledged, so that an unreported message is redelivered.
 * The audit must not hold up evaluation: while Redis is unavailable, the marks wait here and the messages are settled.
 */
export class EvaluationMarks {
  #owed: readonly EvaluatedMessage[] = [];
  #writing: Promise<void> | undefined;

  constructor(
    private readonly tally: EvaluationTally,
    private readonly onError: (error: unknown) => void,
    /** Called with the number of marks that were dropped. */
    private readonly onDropped: (count: number) => void,
    private readonly maxOwed = MAX_OWED_MARKS,
  ) {
    observeQueue({ name: 'evaluation_marks', capacity: maxOwed, size: () => this.#owed.length });
  }

  /** Writes the marks of messages that were evaluated together in one call. Never rejects. */
  add(messages: readonly Received<EventBatch>[]): Promise<void> {
    if (messages.length > 0) this.#owed = [...this.#owed, ...messages.map(markOf)];
    this.#writing ??= Promise.resolve().then(() => this.#write());
    return this.#writing;
  }

  async #write(): Promise<void> {
    this.#writing = undefined;
    const marks = this.#owed;
    if (marks.length === 0) return;
    this.#owed = [];
    try {
      await this.tally.add(marks);
    } catch (error) {
      const owed = [...marks, ...this.#owed];
      this.#owed = owed.slice(-this.maxOwed);
      if (owed.length > this.#owed.length) this.onDropped(owed.length - this.#owed.length);
      this.onError(error);
    }
  }
}

function markOf({ value: { tenantId, receivedAt, events }, sequence }: Received<EventBatch>): EvaluatedMessage {
  return { tenantId, receivedAtMs: Date.parse(receivedAt), sequence, events: events.length };
}
