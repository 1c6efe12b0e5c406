import type { SeriesShape, Totals } from '../ports/window-store.ts';
import { MIN_QUANTILE, Sketch } from './sketch.ts';

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
