/**
 * What all of them answer, in order. Waits for every one, also where some fail, so that nothing of a failed message is
 * still going on when it is delivered again.
 *
 * @throws what the first of those that failed, in their order, was rejected with
 */
export async function allOf<T>(parts: readonly Promise<T>[]): Promise<T[]> {
  const results = await Promise.allSettled(parts);
  return results.map((result) => {
    if (result.status === 'rejected') throw result.reason;
    return result.value;
  });
}
