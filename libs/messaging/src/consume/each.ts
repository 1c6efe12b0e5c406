import type { BatchHandler, HandlingOutcome, Received } from '../event-bus.ts';
import { backOff } from '../util/retry.ts';

/**
 * Turns a handler for one message into a batch handler. Handles `concurrency` messages at a time (default 1). If the
 * handler throws, only that message is retried.
 *
 * @param retryAfterMs delay before redelivery of a message whose handler threw
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
