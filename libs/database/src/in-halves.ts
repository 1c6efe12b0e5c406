import { type DataError, isDataError } from './database.ts';

/**
 * Runs work on many items. If the database rejects one, splits the items in half and retries, until the rejected items
 * are alone. Returns results in the order of the items.
 *
 * @param work all or nothing, one result per item
 * @throws errors of `work` that are not about an item; halves that succeeded stay done
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
