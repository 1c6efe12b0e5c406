/**
 * Quantiles with 1 % relative error from logarithmic bins (DDSketch, Masson, Rim and Lee, VLDB 2019). Bins are numbered
 * in the order of the numbers they stand for, so that a sketch adds up bin by bin in any store.
 */
export interface Bin {
  readonly bin: number;
  readonly count: number;
}

/** Filled bins, the greatest first. */
export type Bins = readonly Bin[];

/**
 * No rule asks for a lower quantile. Of a sketch of thousands of values it is found among the greatest few bins, which
 * are all that is sent and kept of it for a message.
 */
export const MIN_QUANTILE = 0.95;

const RELATIVE_ERROR = 0.01;
const LOG_GAMMA = Math.log((1 + RELATIVE_ERROR) / (1 - RELATIVE_ERROR));
/** Magnitudes below this are zero: a bin for every power down to 5e-324 would serve nobody. */
const SMALLEST = 1e-12;
/** Larger than the number of any bin: the bins of positive numbers come after that of zero, those of negative before. */
const BEYOND = 100_000;

/** Bin of a finite number: a whole number between -200,000 and 200,000. */
export function binOf(value: number): number {
  const magnitude = Math.abs(value);
  if (magnitude < SMALLEST) return 0;
  const bin = BEYOND + Math.ceil(Math.log(magnitude) / LOG_GAMMA);
  return value < 0 ? -bin : bin;
}

/** The sketch of so many values in each bin. */
export function binsOf(counts: ReadonlyMap<number, number>): Bins {
  return Array.from(counts, ([bin, count]) => ({ bin, count })).sort((a, b) => b.bin - a.bin);
}

/** Nearest rank, counted from 1. */
function rankOf(q: number, total: number): number {
  return Math.max(1, Math.ceil(Math.min(1, Math.max(0, q)) * total));
}

/**
 * Of the bins of `total` values the greatest, as many as any quantile from `MIN_QUANTILE` needs, also after `coming`
 * more values, whatever they are.
 */
export function greatestBins(bins: Bins, total: number, coming: number): Bins {
  let missing = total + coming - rankOf(MIN_QUANTILE, total + coming) + 1;
  const end = bins.findIndex(({ count }) => {
    missing -= count;
    return missing <= 0;
  });
  return end < 0 ? bins : bins.slice(0, end + 1);
}

/**
 * The value at quantile `q` (0 to 1) by nearest rank, within 1 % of the exact one; null when the sketch is empty.
 *
 * @param total of all values, where only the greatest bins are given
 */
export function quantileOf(bins: Bins, q: number, total = countOf(bins)): number | null {
  return new Sketch(bins, total).quantile(q);
}

function countOf(bins: Bins): number {
  return bins.reduce((sum, { count }) => sum + count, 0);
}

/** A sketch that grows value by value and is asked in between. */
export class Sketch {
  /** The filled bins, ascending, and how many each holds. */
  readonly #bins: number[] = [];
  readonly #counts: number[] = [];
  #total: number;
  /** Where the last quantile was found, and how many values are in bins below: the next is found near it. */
  #at = 0;
  #below: number;
  #lastFound = { bin: 0, value: 0 };

  /** @param bins of `total` values, at least those `greatestBins` gives for the quantiles that will be asked for */
  constructor(bins: Bins, total: number) {
    for (let at = bins.length - 1; at >= 0; at--) {
      this.#bins.push(bins[at]?.bin ?? 0);
      this.#counts.push(bins[at]?.count ?? 0);
    }
    this.#total = total;
    this.#below = total - countOf(bins);
  }

  /** @param value a finite number */
  add(value: number): void {
    const bin = binOf(value);
    let low = 0;
    let high = this.#bins.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#bins[middle] ?? 0) < bin) low = middle + 1;
      else high = middle;
    }
    this.#total += 1;
    if (low < this.#at) this.#below += 1;
    if (this.#bins[low] === bin) {
      this.#counts[low] = (this.#counts[low] ?? 0) + 1;
      return;
    }
    if (low < this.#at) this.#at += 1;
    this.#bins.splice(low, 0, bin);
    this.#counts.splice(low, 0, 1);
  }

  /** See `quantileOf`. Below the bins that are known it takes the least of them. */
  quantile(q: number): number | null {
    if (this.#bins.length === 0) return null;
    const rank = rankOf(q, this.#total);
    while (this.#at > 0 && this.#below >= rank) {
      this.#at -= 1;
      this.#below -= this.#counts[this.#at] ?? 0;
    }
    while (this.#at < this.#bins.length - 1 && this.#below + (this.#counts[this.#at] ?? 0) < rank) {
      this.#below += this.#counts[this.#at] ?? 0;
      this.#at += 1;
    }
    return this.#valueAt(this.#bins[this.#at] ?? 0);
  }

  #valueAt(bin: number): number {
    if (bin !== this.#lastFound.bin) this.#lastFound = { bin, value: numberAt(bin) };
    return this.#lastFound.value;
  }
}

/** The number a bin stands for: at most 1 % away from every number in it. */
function numberAt(bin: number): number {
  if (bin === 0) return 0;
  const magnitude = Math.exp((Math.abs(bin) - BEYOND) * LOG_GAMMA) * (1 - RELATIVE_ERROR);
  return (bin < 0 ? -1 : 1) * Math.min(magnitude, Number.MAX_VALUE);
}
