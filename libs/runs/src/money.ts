/** Decimal places that money is kept in: a millionth of a millionth of a dollar, below any token's price. */
const PLACES = 12;

/**
 * USD as whole units of 1e-12, so that sums are exact in any order. Rounds the decimal text half away from zero, as
 * Postgres rounds `numeric(24,12)`.
 */
export function picoUsd(usd: number): bigint {
  if (usd === 0) return 0n;
  const [digits = '0', exponent = '0'] = String(Math.abs(usd)).split('e');
  const [whole = '', fraction = ''] = digits.split('.');
  const shift = PLACES + Number(exponent) - fraction.length;
  const unscaled = BigInt(whole + fraction);
  const pico = shift >= 0 ? unscaled * 10n ** BigInt(shift) : roundedQuotient(unscaled, 10n ** BigInt(-shift));
  return usd < 0 ? -pico : pico;
}

/** As decimal text that JavaScript and Postgres read without loss, such as `400000e-12`. */
export function usdText(pico: bigint): string {
  return `${pico}e-${PLACES}`;
}

/** The nearest double. */
export function usdOf(pico: bigint): number {
  return Number(usdText(pico));
}

function roundedQuotient(dividend: bigint, divisor: bigint): bigint {
  return (dividend + divisor / 2n) / divisor;
}
