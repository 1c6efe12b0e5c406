import { type ExactSum, plus } from '../exact-sum.ts';
import type { Contribution } from './plan.ts';

/** What several contributions bring to one bucket. */
export interface BucketSum {
  readonly epoch: number;
  readonly count: number;
  readonly sum: ExactSum;
  readonly min: number;
  readonly max: number;
  /** The newest; of equally new ones the greatest. */
  readonly last: { readonly atMs: number; readonly value: number };
  /** Sketch bin -> count; empty where the shape keeps none. */
  readonly bins: ReadonlyMap<string, number>;
}

interface Growing extends BucketSum {
  count: number;
  sum: ExactSum;
  min: number;
  max: number;
  last: { atMs: number; value: number };
  readonly bins: Map<string, number>;
}

/** Never added to: the bin of a contribution is empty in every one to a series, or in none. */
const NO_BINS = new Map<string, number>();

/** Contributions by bucket: a batch of a hundred events is then one addition for the store, not a hundred. */
export function addedUp(contributions: readonly Contribution[]): readonly BucketSum[] {
  const byEpoch = new Map<number, Growing>();
  for (const { epoch, atMs, value, amount, bin } of contributions) {
    const sum = byEpoch.get(epoch);
    if (sum === undefined) {
      const bins = bin === '' ? NO_BINS : new Map([[bin, 1]]);
      byEpoch.set(epoch, { epoch, count: 1, sum: amount, min: value, max: value, last: { atMs, value }, bins });
      continue;
    }
    sum.count += 1;
    sum.sum = plus(sum.sum, amount);
    if (value < sum.min) sum.min = value;
    if (value > sum.max) sum.max = value;
    const { last } = sum;
    if (atMs > last.atMs || (atMs === last.atMs && value > last.value)) sum.last = { atMs, value };
    if (bin !== '') sum.bins.set(bin, (sum.bins.get(bin) ?? 0) + 1);
  }
  return [...byEpoch.values()];
}
