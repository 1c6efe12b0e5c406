/**
 * Result of `work` within `ms`. Late work continues, but its result is ignored.
 *
 * @throws errors of `work`, or a timeout error
 */
export async function withDeadline<T>(work: Promise<T>, ms: number): Promise<T> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => late.reject(new Error(`no answer within ${ms} ms`)), ms);
  try {
    return await Promise.race([work, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}
