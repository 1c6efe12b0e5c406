/**
 * Sums that do not drift. Values are rounded to billionths (nano-units) and kept in two limbs: `high` in millions of
 * units and `low` in nano-units, with 0 <= low < 1e15. Both are whole numbers below 2^53, so adding and subtracting are
 * exact in any order, also in Lua, which only has doubles: 0.1 + 0.2 is 0.3, and a bucket that leaves a window
 * subtracts exactly what it added. Exact for totals up to 9e21.
 */
export interface ExactSum {
  readonly high: number;
  readonly low: number;
}

/** Nano-units per unit of the high limb. */
export const LIMB = 1e15;
const HIGH_UNIT = 1e6;
const NANO = 1e9;
/** Larger values are clamped to this, so that sums of thousands of them stay exact. */
const LARGEST = 1e18;

export const ZERO: ExactSum = { high: 0, low: 0 };

function carried(high: number, low: number): ExactSum {
  if (low >= LIMB) return { high: high + 1, low: low - LIMB };
  if (low < 0) return { high: high - 1, low: low + LIMB };
  return { high, low };
}

/** Converts a finite number to an exact sum. */
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

/** Nearest double. Up to nine million units it equals the decimal literal of the same sum. */
export function toNumber({ high, low }: ExactSum): number {
  const nanos = high * LIMB + low;
  return Number.isSafeInteger(nanos) ? nanos / NANO : high * HIGH_UNIT + low / NANO;
}

const NANOS_PER_USD = 1e9;
/** Removes rounding errors below a thousandth of a nano-dollar, which binary fractions add to decimal amounts. */
const NOISE_FACTOR = 1e3;
/** Larger amounts are clamped to this; it fits the digits of a double and is written without an exponent. */
const MAX_USD = 1e9;

/**
 * Dollars as whole nano-dollars, rounded up so that many tiny amounts cannot bypass a budget. Sums of whole numbers do
 * not depend on their order.
 */
export function nanosOf(usd: number): number {
  return Math.ceil(inNanos(usd));
}

/** A limit in whole nano-dollars, rounded down. */
export function limitNanosOf(usd: number): number {
  return Math.floor(inNanos(usd));
}

export function usdOf(nanos: number): number {
  return nanos / NANOS_PER_USD;
}

function inNanos(usd: number): number {
  return Math.round(Math.min(usd, MAX_USD) * NANOS_PER_USD * NOISE_FACTOR) / NOISE_FACTOR;
}
