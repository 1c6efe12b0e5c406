import { exactly, LIMB } from '../exact-sum.ts';

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
