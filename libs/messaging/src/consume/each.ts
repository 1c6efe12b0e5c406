import type { BatchHandler, HandlingOutcome, Received } from '../event-bus.ts';
import { backOff } from '../util/retry.ts';

/**
 * Makes a batch handler of one that thinks of a single message. Messages of a batch run `concurrency` at a time
 * (default: one after the other); a throw on one of them asks for that one again and leaves the others settled.
 *
 * @param retryAfterMs how long a message whose handler threw rests
 */
export function each<T>(
  handler: (message: Received<T>) => Promise<HandlingOutcome>,
  concurrency = 1,
  retryAfterMs: (attempt: number) => number = backOff,
): BatchHandler<T> {
  const settle = async (message: Received<T>): Promise<HandlingOutcome> => {
    try {
      return await handler(message);
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      return { kind: 'retry', afterMs: retryAfterMs(message.attempt), reason };
    }
  };
  return async (messages) => {
    const outcomes: HandlingOutcome[] = [];
    let next = 0;
    const lane = async (): Promise<void> => {
      for (let index = next++; index < messages.length; index = next++) {
        const message = messages[index];
        if (message) outcomes[index] = await settle(message);
      }
    };
    await Promise.all(Array.from({ length: Math.min(concurrency, messages.length) }, lane));
    return outcomes;
  };
}
