/**
 * What `work` answers, if it does so within `ms`. Work that is late goes on, and nobody hears of it any more.
 * @throws what `work` throws, or that there was no answer in time
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
