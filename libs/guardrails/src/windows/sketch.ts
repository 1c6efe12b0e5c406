/**
 * Quantiles with 1 % relative error from logarithmic bins (DDSketch, Masson, Rim and Lee, VLDB 2019). A bin is text, so
 * that a sketch is a plain record which adds up bin by bin in any store: `0`, `+i` and `-i` for the i-th bin of the
 * positive and negative numbers.
 */
export type Bins = Readonly<Record<string, number>>;

const RELATIVE_ERROR = 0.01;
const LOG_GAMMA = Math.log((1 + RELATIVE_ERROR) / (1 - RELATIVE_ERROR));
/** Magnitudes below this are zero: a bin for every power down to 5e-324 would serve nobody. */
const SMALLEST = 1e-12;
/** Larger than the number of any bin: the bins of positive numbers come after that of zero, those of negative before. */
const BEYOND = 100_000;

/** Bin of a finite number. */
export function binOf(value: number): string {
  const place = placeOf(value);
  if (place === 0) return '0';
  return `${place < 0 ? '-' : '+'}${Math.abs(place) - BEYOND}`;
}

/**
 * The value at quantile `q` (0 to 1) by nearest rank, within 1 % of the exact one; null when the sketch is empty.
 * Bins of count zero or less are ignored.
 */
export function quantileOf(bins: Bins, q: number): number | null {
  return new Sketch(bins).quantile(q);
}

/** A sketch that grows value by value and is asked in between: its bins lie in the order of the numbers they stand for. */
export class Sketch {
  /** Places of the filled bins, ascending, and how many each holds. */
  readonly #places: number[] = [];
  readonly #counts: number[] = [];
  #total = 0;
  /** A quantile mostly stays in its bin from one value to the next. */
  #lastFound = { place: 0, value: 0 };

  constructor(bins: Bins = {}) {
    const counts = new Map<number, number>();
    for (const bin of Object.keys(bins)) {
      const count = bins[bin] ?? 0;
      if (count > 0) counts.set(placeOfBin(bin), count);
    }
    for (const place of [...counts.keys()].sort((a, b) => a - b)) {
      const count = counts.get(place) ?? 0;
      this.#places.push(place);
      this.#counts.push(count);
      this.#total += count;
    }
  }

  /** @param value a finite number */
  add(value: number): void {
    const place = placeOf(value);
    let low = 0;
    let high = this.#places.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#places[middle] ?? 0) < place) low = middle + 1;
      else high = middle;
    }
    this.#total += 1;
    if (this.#places[low] === place) {
      this.#counts[low] = (this.#counts[low] ?? 0) + 1;
      return;
    }
    this.#places.splice(low, 0, place);
    this.#counts.splice(low, 0, 1);
  }

  /** See `quantileOf`. Goes down from the greatest: the quantiles that are asked for are high ones. */
  quantile(q: number): number | null {
    const rank = Math.max(1, Math.ceil(Math.min(1, Math.max(0, q)) * this.#total));
    let below = this.#total;
    for (let at = this.#counts.length - 1; at >= 0; at--) {
      below -= this.#counts[at] ?? 0;
      if (below < rank) return this.#valueAt(this.#places[at] ?? 0);
    }
    return null;
  }

  #valueAt(place: number): number {
    if (place !== this.#lastFound.place) this.#lastFound = { place, value: numberAt(place) };
    return this.#lastFound.value;
  }
}

function placeOf(value: number): number {
  const magnitude = Math.abs(value);
  if (magnitude < SMALLEST) return 0;
  const place = BEYOND + Math.ceil(Math.log(magnitude) / LOG_GAMMA);
  return value < 0 ? -place : place;
}

function placeOfBin(bin: string): number {
  if (bin === '0') return 0;
  const place = BEYOND + Number(bin.slice(1));
  return bin.startsWith('-') ? -place : place;
}

/** The number a bin stands for: at most 1 % away from every number in it. */
function numberAt(place: number): number {
  if (place === 0) return 0;
  const magnitude = Math.exp((Math.abs(place) - BEYOND) * LOG_GAMMA) * (1 - RELATIVE_ERROR);
  return (place < 0 ? -1 : 1) * Math.min(magnitude, Number.MAX_VALUE);
}
