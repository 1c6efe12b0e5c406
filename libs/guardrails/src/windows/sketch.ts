/**
 * Logarithmic bin for quantiles with 1 % relative error (DDSketch, Masson, Rim and Lee, VLDB 2019). Bins are numbered
 * in the order of their values, so that any store can add sketches bin by bin.
 */
export interface Bin {
  readonly bin: number;
  readonly count: number;
}

/** Non-empty bins, greatest first. */
export type Bins = readonly Bin[];

/**
 * Lowest quantile that rules can use. It lies within the few greatest bins even of a sketch of thousands of values, and
 * only those are transferred and stored for a message.
 */
export const MIN_QUANTILE = 0.95;

const RELATIVE_ERROR = 0.01;
const LOG_GAMMA = Math.log((1 + RELATIVE_ERROR) / (1 - RELATIVE_ERROR));
/** Magnitudes below this count as zero; finer bins would have no use. */
const SMALLEST = 1e-12;
/**
 * Offset larger than the logarithmic index of any magnitude: bins of positive numbers follow zero's, those of negative
 * numbers precede it.
 */
const BEYOND = 100_000;

/** Returns the bin of a finite number, an integer between -200,000 and 200,000. */
export function binOf(value: number): number {
  const magnitude = Math.abs(value);
  if (magnitude < SMALLEST) return 0;
  const bin = BEYOND + Math.ceil(Math.log(magnitude) / LOG_GAMMA);
  return value < 0 ? -bin : bin;
}

/** Builds a sketch from the count of each bin. */
export function binsOf(counts: ReadonlyMap<number, number>): Bins {
  return Array.from(counts, ([bin, count]) => ({ bin, count })).sort((a, b) => b.bin - a.bin);
}

/** Nearest rank, counted from 1. */
function rankOf(q: number, total: number): number {
  return Math.max(1, Math.ceil(Math.min(1, Math.max(0, q)) * total));
}

/**
 * Returns the greatest bins of `total` values, as many as any quantile from `MIN_QUANTILE` needs, even after `coming`
 * more values.
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
 * Returns the value at quantile `q` (0 to 1) by nearest rank, within 1 % of the exact one, or null if the sketch is
 * empty.
 *
 * @param total number of all values if only the greatest bins are given
 */
export function quantileOf(bins: Bins, q: number, total = countOf(bins)): number | null {
  return new Sketch(bins, total).quantile(q);
}

function countOf(bins: Bins): number {
  return bins.reduce((sum, { count }) => sum + count, 0);
}

/** A sketch that grows by one value at a time and can be queried in between. */
export class Sketch {
  /** The non-empty bins, ascending, and their counts. */
  readonly #bins: number[] = [];
  readonly #counts: number[] = [];
  #total: number;
  /** Position of the last quantile, and the number of values in bins below it. The next quantile is usually near. */
  #at = 0;
  #below: number;
  #lastFound = { bin: 0, value: 0 };

  /** @param bins bins of `total` values; at least the `greatestBins` for the quantiles to be queried */
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

  /** See `quantileOf`. For a rank below the known bins, returns the lowest of them. */
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

/** Returns the number that represents a bin: at most 1 % away from every number in it. */
function numberAt(bin: number): number {
  if (bin === 0) return 0;
  const magnitude = Math.exp((Math.abs(bin) - BEYOND) * LOG_GAMMA) * (1 - RELATIVE_ERROR);
  return (bin < 0 ? -1 : 1) * Math.min(magnitude, Number.MAX_VALUE);
}
