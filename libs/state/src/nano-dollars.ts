const NANO = 1e9;
/** A thousandth of a billionth: what binary fractions may leave of a decimal amount. */
const NOISE = 1e3;
/** One amount beyond this counts as this much: as many digits as a number has, and no exponent when it is written. */
const MOST_USD = 1e9;

/**
 * Money as whole billionths of a dollar, as rules sum it (exact-sum.ts). Rounded up, so that any number of tiny amounts
 * cannot slip through a budget; sums of whole numbers are the same in every order.
 */
export function nanosOf(usd: number): number {
  return Math.ceil(inNanos(usd));
}

/** A limit is rounded down. */
export function limitNanosOf(usd: number): number {
  return Math.floor(inNanos(usd));
}

export function usdOf(nanos: number): number {
  return nanos / NANO;
}

function inNanos(usd: number): number {
  return Math.round(Math.min(usd, MOST_USD) * NANO * NOISE) / NOISE;
}
