import { hash } from 'node:crypto';
import type { AdvanceRequest, Series, SeriesShape } from '@agentlens/guardrails';
import { binOf, oncePer } from '@agentlens/guardrails/ports';
import { type ExactSum, exactly, LIMB } from '../exact-numbers.ts';
import { BUCKETS, LIFETIMES, SEEN_EPOCH_MS } from '../lifetimes.ts';

/** What several values bring to one bucket. */
interface BucketSum {
  readonly epoch: number;
  readonly count: number;
  /** An exact sum. */
  readonly high: number;
  readonly low: number;
  readonly min: number;
  readonly max: number;
  /** The newest; of equally new ones the greatest. */
  readonly last: number;
  readonly lastAtMs: number;
  /** Sketch bin -> count; empty where the shape keeps none. */
  readonly bins: ReadonlyMap<number, number>;
}

type Growing = { -readonly [Field in keyof BucketSum]: BucketSum[Field] } & { readonly bins: Map<number, number> };

/** Never added to: a series has bins or has none. */
const NO_BINS = new Map<number, number>();

/** The values of one series by bucket: a batch of a hundred events is then one addition for the store, not a hundred. */
export class AddedUp {
  readonly #sums: Growing[] = [];
  /** Events of one message mostly fall into one bucket. */
  #last: Growing | undefined;

  get sums(): readonly BucketSum[] {
    return this.#sums;
  }

  /** @param bin of the sketch; null where the shape keeps none */
  add(epoch: number, atMs: number, value: number, bin: number | null): void {
    const sum = this.#last?.epoch === epoch ? this.#last : this.#sumOf(epoch, bin !== null);
    this.#last = sum;
    const { high, low } = exactly(value);
    const carries = sum.low + low >= LIMB;
    sum.count += 1;
    sum.high += carries ? high + 1 : high;
    sum.low += carries ? low - LIMB : low;
    if (value < sum.min) sum.min = value;
    if (value > sum.max) sum.max = value;
    if (atMs > sum.lastAtMs || (atMs === sum.lastAtMs && value > sum.last)) {
      sum.last = value;
      sum.lastAtMs = atMs;
    }
    if (bin !== null) sum.bins.set(bin, (sum.bins.get(bin) ?? 0) + 1);
  }

  #sumOf(epoch: number, hasBins: boolean): Growing {
    const known = this.#sums.find((sum) => sum.epoch === epoch);
    if (known !== undefined) return known;
    const [lowest, highest] = [Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY];
    const empty = { epoch, count: 0, high: 0, low: 0, min: highest, max: lowest, last: lowest, lastAtMs: lowest };
    const sum = { ...empty, bins: hasBins ? new Map<number, number>() : NO_BINS };
    this.#sums.push(sum);
    return sum;
  }
}

/** How a series is kept: a ring of 60 buckets for a sliding span, one plain total for a run or a day. */
export interface Layout {
  /** Milliseconds per bucket; null for a plain total. */
  readonly bucketMs: number | null;
  readonly shape: SeriesShape;
  readonly ttlMs: number;
}

export interface Contribution {
  readonly event: number;
  /** Number of the bucket since 1970; 0 in a plain total. */
  readonly epoch: number;
  readonly atMs: number;
  readonly value: number;
  readonly amount: ExactSum;
  /** Sketch bin; null where the shape keeps none. */
  readonly bin: number | null;
}

export interface PlannedSeries {
  readonly layout: Layout;
  /** Bucket of "now". */
  readonly nowEpoch: number;
  readonly contributions: readonly Contribution[];
  /** What is added up instead of being listed. */
  readonly certain: AddedUp;
}

export interface SeenEvent {
  readonly event: number;
  /** Number of the ten minutes the event happened in: the same whenever the event is sent again. */
  readonly epoch: number;
  readonly fingerprint: string;
}

export const layoutOf = oncePer(({ span, shape }: Series): Layout => {
  switch (span.kind) {
    case 'sliding':
      return { bucketMs: span.minutes * 1000, shape, ttlMs: span.minutes * 60_000 + LIFETIMES.slidingSlack };
    case 'run':
      return { bucketMs: null, shape, ttlMs: LIFETIMES.run };
    case 'day':
      return { bucketMs: null, shape, ttlMs: LIFETIMES.day };
  }
});

/** A window of n minutes has 60 buckets of n seconds. */
export function epochOf(layout: Layout, atMs: number): number {
  return layout.bucketMs === null ? 0 : Math.floor(atMs / layout.bucketMs);
}

/** First bucket of the window that ends with bucket `epoch`. */
export function windowStart(epoch: number): number {
  return epoch - BUCKETS + 1;
}

/**
 * What a request asks of a store, in the terms both adapters work in. An event is never placed later than the arrival
 * of its batch; values that are no finite numbers are left out.
 *
 * @param isCertain events that cannot have been counted before, which are added up; by default none
 */
export function planSeries(
  request: AdvanceRequest,
  isCertain: (event: number) => boolean = () => false,
): readonly PlannedSeries[] {
  const { nowMs, series, increments } = request;
  const planned = series.map((one) => {
    const layout = layoutOf(one);
    return { layout, nowEpoch: epochOf(layout, nowMs), contributions: [] as Contribution[], certain: new AddedUp() };
  });
  for (const increment of increments) {
    const target = planned[increment.series];
    if (!target || !Number.isFinite(increment.value)) continue;
    const { layout } = target;
    const { event } = increment;
    const atMs = Math.min(increment.atMs, nowMs);
    const epoch = epochOf(layout, atMs);
    // Adding 0 turns -0 into 0, which is what every store reads back.
    const value = increment.value + 0;
    const bin = layout.shape === 'quantiles' ? binOf(value) : null;
    if (isCertain(event)) target.certain.add(epoch, atMs, value, bin);
    else target.contributions.push({ event, epoch, atMs, value, amount: exactly(value), bin });
  }
  return planned;
}

/** Ids are kept as 72 bits of their hash: short, and two ids of ten minutes never meet by chance. */
export function planSeen(request: AdvanceRequest): readonly SeenEvent[] {
  return request.retryable.map(({ event, id, atMs }) => ({
    event,
    epoch: Math.floor(atMs / SEEN_EPOCH_MS),
    fingerprint: fingerprint(id),
  }));
}

export function fingerprint(text: string): string {
  return hash('sha256', text, 'base64url').slice(0, 12);
}
