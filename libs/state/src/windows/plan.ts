import { hash } from 'node:crypto';
import type { AdvanceRequest, Series, SeriesShape } from '@agentlens/guardrails';
import { binOf, oncePer } from '@agentlens/guardrails/ports';
import { type ExactSum, exactly, LIMB } from '../exact-numbers.ts';
import { BUCKETS, LIFETIMES, SEEN_EPOCH_MS } from '../lifetimes.ts';

/** Sum of several values in one bucket. */
interface BucketSum {
  readonly epoch: number;
  readonly count: number;
  /** Exact sum. */
  readonly high: number;
  readonly low: number;
  readonly min: number;
  readonly max: number;
  /** Latest value; the largest of equally late ones. */
  readonly last: number;
  readonly lastAtMs: number;
  /** Sketch bin -> count; empty for shapes without bins. */
  readonly bins: ReadonlyMap<number, number>;
}

type Growing = { -readonly [Field in keyof BucketSum]: BucketSum[Field] } & { readonly bins: Map<number, number> };

/** Shared and never modified: a series either has bins or not. */
const NO_BINS = new Map<number, number>();

/** Sums of one series by bucket, so that a batch of a hundred events is one addition for the store. */
export class AddedUp {
  readonly #sums: Growing[] = [];
  /** Events of one message usually fall into one bucket. */
  #last: Growing | undefined;

  get sums(): readonly BucketSum[] {
    return this.#sums;
  }

  /** @param bin sketch bin; null for shapes without bins */
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

/** How a series is stored: a ring of 60 buckets for a sliding window, one total for a run or a day. */
export interface Layout {
  /** Milliseconds per bucket; null for a total. */
  readonly bucketMs: number | null;
  readonly shape: SeriesShape;
  readonly ttlMs: number;
}

export interface Contribution {
  readonly event: number;
  /** Number of the bucket since 1970; 0 for a total. */
  readonly epoch: number;
  readonly atMs: number;
  readonly value: number;
  readonly amount: ExactSum;
  /** Sketch bin; null for shapes without bins. */
  readonly bin: number | null;
}

export interface PlannedSeries {
  readonly layout: Layout;
  /** Current bucket. */
  readonly nowEpoch: number;
  readonly contributions: readonly Contribution[];
  /** Contributions that are summed instead of listed. */
  readonly certain: AddedUp;
}

export interface SeenEvent {
  readonly event: number;
  /** Number of the ten-minute interval of the event, the same whenever the event is resent. */
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
 * Converts a request into operations that both adapters understand. An event later than the arrival of its batch counts
 * at the arrival; values that are not finite are ignored.
 *
 * @param isCertain whether an event cannot have been counted before, so that it can be summed; by default never
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

/** Ids are stored as 72 bits of their hash, short and without collisions within ten minutes. */
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
