const MICRO = 6;

/**
 * USD as whole millionths, the precision money is stored in. Rounds the decimal text, half away from zero, as Postgres
 * rounds `numeric(14,6)`; sums of whole numbers are exact.
 */
export function microUsd(usd: number): number {
  const [digits = '0', exponent = '0'] = String(usd).split('e');
  return Math.round(Number(`${digits}e${Number(exponent) + MICRO}`));
}

export function usdOf(micro: number): number {
  return Number(`${micro}e-${MICRO}`);
}
