import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { picoUsd, usdOf, usdText } from './run-totals.ts';

/** Whole units of 1e-12 of a decimal text, rounded half away from zero digit by digit. */
function roundedText(text: string): bigint {
  const [, sign = '', whole = '', fraction = '', exponent = '0'] =
    /^(-?)(\d+)(?:\.(\d+))?(?:e([+-]?\d+))?$/.exec(text) ?? [];
  const digits = `${whole}${fraction}`;
  const point = whole.length + Number(exponent) + 12;
  const padded = point <= 0 ? `${'0'.repeat(1 - point)}${digits}` : digits.padEnd(point + 1, '0');
  const at = point <= 0 ? 1 : point;
  const rounded = BigInt(padded.slice(0, at)) + (Number(padded[at]) >= 5 ? 1n : 0n);
  return sign === '-' ? -rounded : rounded;
}

describe('money', () => {
  it.each([
    [0, 0n],
    [4e-7, 400_000n],
    [1e-12, 1n],
    [5e-13, 1n],
    [4.9e-13, 0n],
    [1e-300, 0n],
    [0.1 + 0.2, 300_000_000_000n],
    [-0.1, -100_000_000_000n],
    [1e21, 10n ** 33n],
    [99_999_999.123456, 99_999_999_123_456_000_000n],
  ])('converts %p USD to %p units of 1e-12', (usd, pico) => {
    expect(picoUsd(usd)).toBe(pico);
  });

  it.each([0, 4e-7, 0.1, 1.000001, 99_999_999.999_999])('round-trips %p USD', (usd) => {
    expect(usdOf(picoUsd(usd))).toBe(usd);
    expect(Number(usdText(picoUsd(usd)))).toBe(usd);
  });

  it('adds without drift', () => {
    const sum = Array.from({ length: 10_000 }, () => picoUsd(0.1)).reduce((a, b) => a + b, 0n);
    expect(usdOf(sum)).toBe(1000);
  });

  it('rounds the decimal text like Postgres', () => {
    const amounts = fc.oneof(
      fc.double({ min: 0, max: 1e8, noNaN: true }),
      fc.double({ min: 0, max: 0.001, noNaN: true }),
      // At and next to a half.
      fc.tuple(fc.nat(2 ** 31 - 1), fc.integer({ min: -3, max: 3 })).map(([n, by]) => (n + 0.5) / 1e12 + by * 1e-22),
      fc
        .tuple(fc.nat(10 ** 6), fc.nat(10 ** 9))
        .map(([usd, nano]) => Number(`${usd}.${String(nano).padStart(9, '0')}`)),
    );
    fc.assert(
      fc.property(amounts, (usd) => {
        expect(picoUsd(usd)).toBe(roundedText(String(usd)));
      }),
      { numRuns: 2_000 },
    );
  });
});
