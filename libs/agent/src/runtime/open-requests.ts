import { AgentError } from '../core/agent-error.ts';
import type { PermissionAnswer } from '../core/input-message.ts';

interface OpenRequest {
  readonly inputHash: string;
  readonly answer: (answer: PermissionAnswer) => void;
}

/** Questions that wait for a human. Each takes one answer, and only one that is about what was shown. */
export class OpenRequests {
  readonly #open = new Map<string, OpenRequest>();

  has(requestId: string): boolean {
    return this.#open.has(requestId);
  }

  /** Rejects with the signal's reason. */
  wait(requestId: string, inputHash: string, signal: AbortSignal): Promise<PermissionAnswer> {
    return new Promise((resolve, reject) => {
      const done = () => {
        this.#open.delete(requestId);
        signal.removeEventListener('abort', aborted);
      };
      const aborted = () => {
        done();
        reject(signal.reason);
      };
      if (signal.aborted) {
        reject(signal.reason);
        return;
      }
      signal.addEventListener('abort', aborted, { once: true });
      const answer = (given: PermissionAnswer) => {
        done();
        resolve(given);
      };
      this.#open.set(requestId, { inputHash, answer });
    });
  }

  /** @throws AgentError `stale_answer` */
  answer(answer: PermissionAnswer): void {
    const request = this.#open.get(answer.requestId);
    if (request === undefined) throw new AgentError('stale_answer', 'nobody waits for this answer (any more)');
    if (answer.inputHash !== undefined && answer.inputHash !== request.inputHash)
      throw new AgentError('stale_answer', 'the answer is about another input than the one that was shown');
    request.answer(answer);
  }
}
