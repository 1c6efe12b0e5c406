import { BusUnavailable, type Subscription } from '@agentlens/messaging';

/** A long past takes long to hand over; a broker that is silent this long is away. */
const CATCH_UP_MS = 10_000;

/**
 * A watch once it has handed over its past as well: only then is everything that comes new.
 * @throws BusUnavailable, with nothing left open, where that takes too long
 */
export async function caughtUp(watch: (onCaughtUp: () => void) => Promise<Subscription>): Promise<Subscription> {
  const done = Promise.withResolvers<void>();
  const late = setTimeout(
    () => done.reject(new BusUnavailable('a stream did not hand over its past in time', CATCH_UP_MS)),
    CATCH_UP_MS,
  );
  // It may be rejected while the watch itself is still being set up.
  done.promise.catch(() => undefined);
  try {
    const subscription = await watch(() => done.resolve());
    try {
      await done.promise;
      return subscription;
    } catch (error) {
      await subscription.close();
      throw error;
    }
  } finally {
    clearTimeout(late);
  }
}
