import { type DataError, isDataError } from '@agentlens/database';

/**
 * Does work on many items at once; where the database refuses what one of them holds, on each half, and so on, until the
 * ones it refuses are alone. Answers in the order of the items.
 *
 * @param work all or nothing, one answer per item
 * @throws what `work` threw that blames no item; halves done before stay done
 */
export async function inHalves<T, R>(
  items: readonly T[],
  work: (items: readonly T[]) => Promise<readonly R[]>,
  refused: (item: T, error: DataError) => R,
): Promise<R[]> {
  try {
    return [...(await work(items))];
  } catch (error) {
    if (!isDataError(error)) throw error;
    const [only] = items;
    if (items.length === 1 && only !== undefined) return [refused(only, error)];
    const middle = Math.ceil(items.length / 2);
    const first = await inHalves(items.slice(0, middle), work, refused);
    return [...first, ...(await inHalves(items.slice(middle), work, refused))];
  }
}
