/**
 * Sums that do not drift. A value is taken as a whole number of billionths (nano-units, rounded to the nearest) and kept
 * in two limbs, `high` millions of units and `low` nano-units with 0 <= low < 1e15. Both limbs stay whole numbers below
 * 2^53, so adding and taking away is exact in any order, also in Lua, whose only numbers are doubles: 0.1 + 0.2 is 0.3,
 * and a bucket that leaves a window takes away exactly what it brought. Exact for totals up to 9e21.
 */
export interface ExactSum {
  readonly high: number;
  readonly low: number;
}

/** Nano-units in one unit of the high limb. */
export const LIMB = 1e15;
const HIGH_UNIT = 1e6;
const NANO = 1e9;
/** A single value beyond this adds only this much to a sum, so that sums of thousands of them stay exact. */
const LARGEST = 1e18;

export const ZERO: ExactSum = { high: 0, low: 0 };

function carried(high: number, low: number): ExactSum {
  if (low >= LIMB) return { high: high + 1, low: low - LIMB };
  if (low < 0) return { high: high - 1, low: low + LIMB };
  return { high, low };
}

/** A finite number as an exact sum of one. */
export function exactly(value: number): ExactSum {
  const bounded = Math.min(LARGEST, Math.max(-LARGEST, value));
  const rest = bounded % HIGH_UNIT;
  // Adding 0 turns -0 into 0, which is what every store reads back.
  return carried(Math.round((bounded - rest) / HIGH_UNIT) + 0, Math.round(rest * NANO) + 0);
}

export function plus(a: ExactSum, b: ExactSum): ExactSum {
  return carried(a.high + b.high, a.low + b.low);
}

export function minus(a: ExactSum, b: ExactSum): ExactSum {
  return carried(a.high - b.high, a.low - b.low);
}

/** The nearest double; the one a decimal literal of the same sum would give, up to nine million units. */
export function toNumber({ high, low }: ExactSum): number {
  const nanos = high * LIMB + low;
  return Number.isSafeInteger(nanos) ? nanos / NANO : high * HIGH_UNIT + low / NANO;
}

const NANOS_PER_USD = 1e9;
/** A thousandth of a billionth: what binary fractions may leave of a decimal amount. */
const NOISE_FACTOR = 1e3;
/** One amount beyond this counts as this much: as many digits as a number has, and no exponent when it is written. */
const MAX_USD = 1e9;

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
  return nanos / NANOS_PER_USD;
}

function inNanos(usd: number): number {
  return Math.round(Math.min(usd, MAX_USD) * NANOS_PER_USD * NOISE_FACTOR) / NOISE_FACTOR;
}
