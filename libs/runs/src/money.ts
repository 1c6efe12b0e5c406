const MICRO = 6;
/** Below it a product with a million is off by at most two units in its last place, 0.0003. */
const MOST_EXACT = 1e12;
const NEAR_A_HALF = 0.499;

/**
 * USD as whole millionths, the precision money is stored in. Rounds the decimal text, half away from zero, as Postgres
 * rounds `numeric(14,6)`; sums of whole numbers are exact.
 */
export function microUsd(usd: number): number {
  const micro = usd * 10 ** MICRO;
  const nearest = Math.round(micro);
  // The product is off by less than a thousandth: only near a half can the decimal text say otherwise.
  if (Math.abs(micro - nearest) < NEAR_A_HALF && Math.abs(micro) < MOST_EXACT) return nearest;
  const [digits = '0', exponent = '0'] = String(usd).split('e');
  return Math.round(Number(`${digits}e${Number(exponent) + MICRO}`));
}

export function usdOf(micro: number): number {
  return Number(`${micro}e-${MICRO}`);
}
