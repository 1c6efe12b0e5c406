import type { Topic } from '@agentlens/contracts';
import { BusUnavailable, type EventBus, type Received, type Subscription, type WatchOptions } from '../event-bus.ts';

/** A long past takes long to hand over; a broker that is silent this long is away. */
const CATCH_UP_MS = 10_000;

/** Kept messages of one topic, oldest first. */
interface StreamRange {
  readonly tenantId?: string;
  /** The first message is the one after this sequence; 0: the oldest there is. */
  readonly after: number;
  /** The last sequence; without it, what the stream holds when it is read. */
  readonly upTo?: number;
  /** A broker that takes longer, ms, is away. Default 10,000. */
  readonly withinMs?: number;
}

/**
 * Reads a range to its end, or to the end of the stream if that comes first: what has aged out is not waited for.
 * @throws BusUnavailable if the broker falls silent; nothing stays open
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
 * A watch once it has handed over its past as well: only then is everything that comes new.
 * @throws BusUnavailable if that takes longer than `withinMs`; nothing stays open
 */
export async function watchWithPast(
  watch: (onCaughtUp: NonNullable<WatchOptions['onCaughtUp']>) => Promise<Subscription>,
  withinMs = CATCH_UP_MS,
): Promise<Subscription> {
  const past = Promise.withResolvers<void>();
  const late = setTimeout(
    () =>
      past.reject(new BusUnavailable(`the broker did not hand over the stream's past within ${withinMs} ms`, withinMs)),
    withinMs,
  );
  // It may be rejected while the watch itself is still being set up.
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
