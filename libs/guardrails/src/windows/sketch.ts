/**
 * Quantiles with 1 % relative error from logarithmic bins (DDSketch, Masson, Rim and Lee, VLDB 2019). A bin is text, so
 * that a sketch is a plain record which adds up bin by bin in any store: `0`, `+i` and `-i` for the i-th bin of the
 * positive and negative numbers.
 */
const RELATIVE_ERROR = 0.01;
const LOG_GAMMA = Math.log((1 + RELATIVE_ERROR) / (1 - RELATIVE_ERROR));
/** Magnitudes below this are zero: a bin for every power down to 5e-324 would serve nobody. */
const SMALLEST = 1e-12;

/** Bin of a finite number. */
export function binOf(value: number): string {
  const magnitude = Math.abs(value);
  if (magnitude < SMALLEST) return '0';
  return `${value < 0 ? '-' : '+'}${Math.ceil(Math.log(magnitude) / LOG_GAMMA)}`;
}

/** The number a bin stands for: at most 1 % away from every number in it. */
function numberOf(bin: string): number {
  if (bin === '0') return 0;
  const magnitude = Math.exp(Number(bin.slice(1)) * LOG_GAMMA) * (1 - RELATIVE_ERROR);
  return (bin.startsWith('-') ? -1 : 1) * Math.min(magnitude, Number.MAX_VALUE);
}

/**
 * The value at quantile `q` (0 to 1) by nearest rank, within 1 % of the exact one; null when the sketch is empty.
 * Bins of count zero or less are ignored.
 */
export function quantileOf(bins: Readonly<Record<string, number>>, q: number): number | null {
  const filled = Object.entries(bins)
    .filter(([, count]) => count > 0)
    .map(([bin, count]) => ({ value: numberOf(bin), count }))
    .sort((a, b) => a.value - b.value);
  const total = filled.reduce((sum, { count }) => sum + count, 0);
  const rank = Math.max(1, Math.ceil(Math.min(1, Math.max(0, q)) * total));
  let seen = 0;
  for (const { value, count } of filled) {
    seen += count;
    if (seen >= rank) return value;
  }
  return null;
}
