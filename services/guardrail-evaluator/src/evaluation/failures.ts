import { BusUnavailable, backOff, type HandlingOutcome, UnreadableMessage } from '@agentlens/messaging';
import { StateUnavailable } from '@agentlens/state';

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
