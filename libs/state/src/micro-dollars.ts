const MICRO = 1e6;
/** A thousandth of a millionth: what binary fractions may leave of a decimal amount. */
const NOISE = 1e3;

/**
 * Money as whole millionths of a dollar, as the ledger keeps it. Rounded up, so that any number of tiny amounts cannot
 * slip through a budget; sums of whole numbers are the same in every order.
 */
export function microsOf(usd: number): number {
  return Math.ceil(Math.round(usd * MICRO * NOISE) / NOISE);
}

/** A limit is rounded down. */
export function limitMicrosOf(usd: number): number {
  return Math.floor(Math.round(usd * MICRO * NOISE) / NOISE);
}

export function usdOf(micros: number): number {
  return micros / MICRO;
}
