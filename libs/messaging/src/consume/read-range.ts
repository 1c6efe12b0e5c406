import type { Topic } from '@agentlens/contracts';
import { BusUnavailable, type EventBus, type Received, type Subscription, type WatchOptions } from '../event-bus.ts';

/** Generous, because a long history takes time to deliver. */
const CATCH_UP_MS = 10_000;

/** A range of one topic's stored messages. */
interface StreamRange {
  readonly tenantId?: string;
  /** Start after this sequence; 0 starts with the oldest message. */
  readonly after: number;
  /** Last sequence to read; defaults to the end of the stream at the time of the call. */
  readonly upTo?: number;
  /** Timeout, ms. Default 10,000. */
  readonly withinMs?: number;
}

/**
 * Reads a range of stored messages, oldest first. Stops at the end of the stream, so expired messages are not waited
 * for.
 * @throws BusUnavailable after the timeout; the subscription is closed
 */
export async function readRange<T>(
  bus: Pick<EventBus, 'watch'>,
  topic: Topic<T>,
  { tenantId, after, upTo = Number.POSITIVE_INFINITY, withinMs }: StreamRange,
  take: (message: Received<T>) => void,
): Promise<void> {
  const subscription = await watchWithPast(
    (onCaughtUp) =>
      bus.watch(topic, { tenantId, from: after, onCaughtUp }, (message) => {
        if (message.sequence <= upTo) take(message);
        if (message.sequence >= upTo) onCaughtUp();
      }),
    withinMs,
  );
  await subscription.close();
}

/**
 * Opens a watch and resolves when its history has been delivered. From then on every message is new.
 * @throws BusUnavailable if that takes longer than `withinMs`; the subscription is closed
 */
export async function watchWithPast(
  watch: (onCaughtUp: NonNullable<WatchOptions['onCaughtUp']>) => Promise<Subscription>,
  withinMs = CATCH_UP_MS,
): Promise<Subscription> {
  const past = Promise.withResolvers<void>();
  const late = setTimeout(
    () =>
      past.reject(
        new BusUnavailable(`the broker did not deliver the stream's history within ${withinMs} ms`, withinMs),
      ),
    withinMs,
  );
  // The timeout may fire while the watch is still being opened.
  past.promise.catch(() => undefined);
  try {
    const subscription = await watch(past.resolve);
    try {
      await past.promise;
      return subscription;
    } catch (error) {
      await subscription.close();
      throw error;
    }
  } finally {
    clearTimeout(late);
  }
}
