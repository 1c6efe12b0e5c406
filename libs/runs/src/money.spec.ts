import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { microUsd, usdOf } from './money.ts';

/** Whole millionths of a decimal text, half away from zero, digit by digit. */
function roundedText(text: string): number {
  const [, sign = '', whole = '', fraction = '', exponent = '0'] =
    /^(-?)(\d+)(?:\.(\d+))?(?:e([+-]?\d+))?$/.exec(text) ?? [];
  const digits = `${whole}${fraction}`;
  const point = whole.length + Number(exponent) + 6;
  const padded = point <= 0 ? `${'0'.repeat(1 - point)}${digits}` : digits.padEnd(point + 1, '0');
  const at = point <= 0 ? 1 : point;
  const rounded = BigInt(padded.slice(0, at)) + (Number(padded[at]) >= 5 ? 1n : 0n);
  return Number(sign === '-' ? -rounded : rounded);
}

describe('money', () => {
  it.each([
    [0.000001, 1],
    [0.0000005, 1],
    [0.00000049999, 0],
    [1.0000005, 1_000_001],
    [0.1 + 0.2, 300_000],
    [99_999_999, 99_999_999_000_000],
    [1e-9, 0],
  ])('of %p USD is %i millionths', (usd, micro) => {
    expect(microUsd(usd)).toBe(micro);
  });

  it.each([0, 0.000001, 0.1, 1.000001, 99_999_999.999_999])('of %p USD comes back as it was', (usd) => {
    expect(usdOf(microUsd(usd))).toBe(usd);
  });

  it('is rounded by its decimal text, as Postgres does', () => {
    const amounts = fc.oneof(
      fc.double({ min: 0, max: 1e8, noNaN: true }),
      fc.double({ min: 0, max: 0.001, noNaN: true }),
      // On and beside a half.
      fc.tuple(fc.nat(2 ** 31 - 1), fc.integer({ min: -3, max: 3 })).map(([n, by]) => (n + 0.5) / 1e6 + by * 1e-16),
      fc
        .tuple(fc.nat(10 ** 6), fc.nat(10 ** 9))
        .map(([usd, nano]) => Number(`${usd}.${String(nano).padStart(9, '0')}`)),
    );
    fc.assert(
      fc.property(amounts, (usd) => {
        expect(microUsd(usd)).toBe(roundedText(String(usd)));
      }),
      { numRuns: 2_000 },
    );
  });
});
