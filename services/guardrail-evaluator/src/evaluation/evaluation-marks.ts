import type { EventBatch } from '@agentlens/contracts';
import type { Received } from '@agentlens/messaging';
import type { EvaluatedMessage, EvaluationTally } from '@agentlens/state';

/** Marks that could not be written are kept for the next time; more than this would be a long outage of Redis. */
const MOST_OWED = 20_000;

/**
 * Tells the auditor what was evaluated, before it is acknowledged: a message that was not told of comes again. The
 * auditor watches, so it holds nothing up: without Redis the marks wait here and the messages are settled.
 */
export class EvaluationMarks {
  #owed: readonly EvaluatedMessage[] = [];

  constructor(
    private readonly tally: EvaluationTally,
    private readonly onError: (error: unknown) => void,
  ) {}

  /** Never throws. */
  async add(messages: readonly Received<EventBatch>[]): Promise<void> {
    const marks = [...this.#owed, ...messages.map(markOf)];
    if (marks.length === 0) return;
    this.#owed = [];
    try {
      await this.tally.add(marks);
    } catch (error) {
      this.#owed = [...this.#owed, ...marks].slice(-MOST_OWED);
      this.onError(error);
    }
  }
}

function markOf({ value: { tenantId, receivedAt, events }, sequence }: Received<EventBatch>): EvaluatedMessage {
  return { tenantId, receivedAtMs: Date.parse(receivedAt), sequence, events: events.length };
}
