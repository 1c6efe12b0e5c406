/**
 * Like `Promise.all`, but waits for every promise even if some fail, so that no work for a failed message is still running
 * when the message is redelivered.
 *
 * @throws the first rejection, in the order of `parts`
 */
export async function settleAll<T>(parts: readonly Promise<T>[]): Promise<T[]> {
  const results = await Promise.allSettled(parts);
  return results.map((result) => {
    if (result.status === 'rejected') throw result.reason;
    return result.value;
  });
}

/** Waits until `work` has settled, but at most `ms` milliseconds. Ignores its result and its error. */
export async function within(ms: number, work: Promise<unknown>): Promise<void> {
  const timeout = Promise.withResolvers<void>();
  const timer = setTimeout(timeout.resolve, ms);
  await Promise.race([work.catch(() => undefined), timeout.promise]);
  clearTimeout(timer);
}

/**
 * The result of `work`. After a timeout the work itself goes on and its result is ignored.
 * @throws the error of `work`, or `onTimeout()` after `ms` milliseconds
 */
export async function withTimeout<T>(ms: number, work: Promise<T>, onTimeout: () => Error): Promise<T> {
  const timeout = Promise.withResolvers<never>();
  const timer = setTimeout(() => timeout.reject(onTimeout()), ms);
  try {
    return await Promise.race([work, timeout.promise]);
  } finally {
    clearTimeout(timer);
  }
}
