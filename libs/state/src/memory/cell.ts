import type { SeriesShape, Totals } from '@agentlens/guardrails';
import { binsOf, greatestBins } from '@agentlens/guardrails/ports';
import { type ExactSum, minus, plus, toNumber, ZERO } from '../exact-sum.ts';
import type { Contribution } from '../windows/plan.ts';

/** What one bucket, or one whole total, has seen. */
export interface Cell {
  count: number;
  sum: ExactSum;
  min: number;
  max: number;
  lastAtMs: number;
  lastValue: number;
  readonly bins: Map<number, number>;
}

export function emptyCell(): Cell {
  return {
    count: 0,
    sum: ZERO,
    min: Number.POSITIVE_INFINITY,
    max: Number.NEGATIVE_INFINITY,
    lastAtMs: Number.NEGATIVE_INFINITY,
    lastValue: Number.NEGATIVE_INFINITY,
    bins: new Map(),
  };
}

export function count(cell: Cell, contribution: Contribution): void {
  const { value, atMs, bin } = contribution;
  cell.count += 1;
  cell.sum = plus(cell.sum, contribution.amount);
  cell.min = Math.min(cell.min, value);
  cell.max = Math.max(cell.max, value);
  keepNewest(cell, atMs, value);
  if (bin !== null) cell.bins.set(bin, (cell.bins.get(bin) ?? 0) + 1);
}

/** Of two values of the same millisecond the larger is the newer, so that arrival order does not matter. */
function keepNewest(cell: Cell, atMs: number, value: number): void {
  if (atMs < cell.lastAtMs || (atMs === cell.lastAtMs && value <= cell.lastValue)) return;
  cell.lastAtMs = atMs;
  cell.lastValue = value;
}

export function merge(into: Cell, from: Cell): void {
  into.count += from.count;
  into.sum = plus(into.sum, from.sum);
  into.min = Math.min(into.min, from.min);
  into.max = Math.max(into.max, from.max);
  keepNewest(into, from.lastAtMs, from.lastValue);
  for (const [bin, binCount] of from.bins) into.bins.set(bin, (into.bins.get(bin) ?? 0) + binCount);
}

/** Only what adds up can be taken away again: count and sum. */
export function takeAway(total: Cell, gone: Cell): void {
  total.count -= gone.count;
  total.sum = minus(total.sum, gone.sum);
}

/** @param coming values that will be added to what is answered */
export function totalsOf(cell: Cell, shape: SeriesShape, coming = 0): Totals {
  const extremes = shape !== 'sum' && cell.count > 0;
  return {
    count: cell.count,
    sum: toNumber(cell.sum),
    min: extremes ? cell.min : null,
    max: extremes ? cell.max : null,
    last: extremes ? { atMs: cell.lastAtMs, value: cell.lastValue } : null,
    bins: greatestBins(binsOf(cell.bins), cell.count, coming),
  };
}
