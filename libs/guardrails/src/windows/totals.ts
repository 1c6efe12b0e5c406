import type { SeriesShape, Totals } from '../ports/window-store.ts';
import { type Bins, binOf, MIN_QUANTILE, Sketch } from './sketch.ts';

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

/** Totals of a series as conditions measure them. Null if nothing was seen or the shape does not keep the value. */
export interface SeriesTotals {
  readonly count: number;
  readonly sum: number;
  readonly min: number | null;
  readonly max: number | null;
  /** The newest value. */
  readonly last: number | null;
  /** Within 1 %, see `quantileOf`. @param q at least `MIN_QUANTILE` */
  quantile(q: number): number | null;
}

/**
 * Mutable totals that grow by one value at a time, because every event of a batch is measured on them. Equals
 * `withValue`.
 */
export class RunningTotals implements SeriesTotals {
  count: number;
  sum: number;
  min: number | null;
  max: number | null;
  last: number | null;
  #lastAtMs: number;
  readonly #before: Totals;
  /** Created on first use, because most series have no bins. */
  #sketch: Sketch | undefined;

  constructor(before: Totals) {
    this.#before = before;
    this.count = before.count;
    this.sum = before.sum;
    this.min = before.min;
    this.max = before.max;
    this.last = before.last?.value ?? null;
    this.#lastAtMs = before.last?.atMs ?? Number.NEGATIVE_INFINITY;
  }

  add(shape: SeriesShape, atMs: number, value: number): void {
    this.count += 1;
    this.sum += value;
    if (shape === 'sum') return;
    this.min = this.min === null ? value : Math.min(this.min, value);
    this.max = this.max === null ? value : Math.max(this.max, value);
    if (this.last === null || atMs > this.#lastAtMs || (atMs === this.#lastAtMs && value > this.last)) {
      this.last = value;
      this.#lastAtMs = atMs;
    }
    if (shape === 'quantiles') this.#bins().add(value);
  }

  quantile(q: number): number | null {
    if (q < MIN_QUANTILE) throw new Error(`stores keep no bins for quantile ${q}`);
    return this.#bins().quantile(q);
  }

  #bins(): Sketch {
    this.#sketch ??= new Sketch(this.#before.bins, this.#before.count);
    return this.#sketch;
  }
}
