import { setImmediate as nextTurn } from 'node:timers/promises';

/** What a piece holds takes a few milliseconds. */
const PIECE = 100;

/**
 * Does some work on each item, in order. Of more items than a piece holds, whoever waits for the thread has its turn
 * after each piece: other requests, timers, answers of stores.
 */
export async function inPieces<T, R>(items: readonly T[], work: (item: T, index: number) => R): Promise<R[]> {
  if (items.length <= PIECE) return items.map(work);
  const done: R[] = [];
  for (const [index, item] of items.entries()) {
    if (index > 0 && index % PIECE === 0) await nextTurn();
    done.push(work(item, index));
  }
  return done;
}
