import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { type Bins, binOf, binsOf, greatestBins, MIN_QUANTILE, quantileOf, Sketch } from './sketch.ts';

function sketchOf(values: readonly number[]): Bins {
  const counts = new Map<number, number>();
  for (const bin of values.map(binOf)) counts.set(bin, (counts.get(bin) ?? 0) + 1);
  return binsOf(counts);
}

const magnitudes = fc.double({ min: 1e-9, max: 1e15, noNaN: true });
const numbers = fc.oneof(
  magnitudes,
  magnitudes.map((value) => -value),
  fc.constant(0),
);

describe('quantile sketch', () => {
  it('is within 1 % of the exact nearest-rank quantile, including negative numbers and zero', () => {
    fc.assert(
      fc.property(
        fc.array(numbers, { minLength: 1, maxLength: 200 }),
        fc.double({ min: 0, max: 1, noNaN: true }),
        (values, q) => {
          const sorted = [...values].sort((a, b) => a - b);
          const exact = sorted[Math.max(1, Math.ceil(q * values.length)) - 1] ?? Number.NaN;
          const found = quantileOf(sketchOf(values), q) ?? Number.NaN;
          expect(Math.abs(found - exact)).toBeLessThanOrEqual(Math.abs(exact) * 0.0100001);
        },
      ),
    );
  });

  it('gives the same quantiles when it grows value by value as when built at once', () => {
    fc.assert(
      fc.property(
        fc.array(numbers),
        fc.array(numbers),
        fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { minLength: 1, maxLength: 3 }),
        (before, come, asked) => {
          const grown = new Sketch(sketchOf(before), before.length);
          come.forEach((value, i) => {
            grown.add(value);
            const q = asked[i % asked.length] ?? 0;
            expect(grown.quantile(q)).toBe(quantileOf(sketchOf([...before, ...come.slice(0, i + 1)]), q));
          });
        },
      ),
    );
  });

  it('needs only its greatest bins for high quantiles, even as it grows', () => {
    fc.assert(
      fc.property(
        fc.array(numbers, { maxLength: 200 }),
        fc.array(numbers, { maxLength: 60 }),
        fc.double({ min: MIN_QUANTILE, max: 1, noNaN: true }),
        (before, come, q) => {
          const kept = new Sketch(greatestBins(sketchOf(before), before.length, come.length), before.length);
          expect(kept.quantile(q)).toBe(quantileOf(sketchOf(before), q));
          come.forEach((value, i) => {
            kept.add(value);
            expect(kept.quantile(q)).toBe(quantileOf(sketchOf([...before, ...come.slice(0, i + 1)]), q));
          });
        },
      ),
    );
  });

  it('numbers bins in the order of their values', () => {
    fc.assert(
      fc.property(numbers, numbers, (a, b) => {
        expect(Math.sign(binOf(a) - binOf(b)) * Math.sign(a - b)).toBeGreaterThanOrEqual(0);
      }),
    );
  });

  it('has no quantile when it is empty', () => {
    expect(quantileOf([], 0.95)).toBeNull();
  });

  it('handles the largest and smallest numbers', () => {
    expect(quantileOf(sketchOf([Number.MAX_VALUE]), 1)).toBeLessThanOrEqual(Number.MAX_VALUE);
    expect(quantileOf(sketchOf([5e-324]), 1)).toBe(0);
  });
});
