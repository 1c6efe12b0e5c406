import type { SeriesShape, Totals } from '../ports/window-store.ts';
import { type Bins, binOf } from './sketch.ts';

/** Totals of an empty series. */
export const NO_TOTALS: Totals = { count: 0, sum: 0, min: null, max: null, last: null, bins: [] };

/**
 * Returns `totals` with one more value. Of two values at the same millisecond the larger is the last, as in every
 * store, so that the order of arrival does not matter.
 */
export function withValue(totals: Totals, shape: SeriesShape, atMs: number, value: number): Totals {
  const counted = { ...totals, count: totals.count + 1, sum: totals.sum + value };
  if (shape === 'sum') return counted;
  const spread = {
    ...counted,
    min: totals.min === null ? value : Math.min(totals.min, value),
    max: totals.max === null ? value : Math.max(totals.max, value),
    last: newer(totals.last, { atMs, value }),
  };
  if (shape === 'spread') return spread;
  return { ...spread, bins: withOneMore(totals.bins, binOf(value)) };
}

function withOneMore(bins: Bins, bin: number): Bins {
  const before = bins.find((one) => one.bin === bin)?.count ?? 0;
  const others = bins.filter((one) => one.bin !== bin);
  return [...others, { bin, count: before + 1 }].toSorted((a, b) => b.bin - a.bin);
}

type Last = NonNullable<Totals['last']>;

function newer(known: Last | null, come: Last): Last {
  if (known === null || come.atMs > known.atMs) return come;
  return come.atMs === known.atMs && come.value > known.value ? come : known;
}
