import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { binOf, quantileOf, Sketch } from './sketch.ts';

function sketchOf(values: readonly number[]): Record<string, number> {
  const bins: Record<string, number> = {};
  for (const value of values) bins[binOf(value)] = (bins[binOf(value)] ?? 0) + 1;
  return bins;
}

const magnitudes = fc.double({ min: 1e-9, max: 1e15, noNaN: true });
const numbers = fc.oneof(
  magnitudes,
  magnitudes.map((value) => -value),
  fc.constant(0),
);

describe('quantile sketch', () => {
  it('is within 1 % of the exact nearest-rank quantile, for negative numbers and zero too', () => {
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

  it('is the same grown value by value, and asked in between, as made of all bins at once', () => {
    fc.assert(
      fc.property(
        fc.array(numbers),
        fc.array(numbers),
        fc.double({ min: 0, max: 1, noNaN: true }),
        (before, come, q) => {
          const grown = new Sketch(sketchOf(before));
          come.forEach((value, i) => {
            grown.add(value);
            expect(grown.quantile(q)).toBe(quantileOf(sketchOf([...before, ...come.slice(0, i + 1)]), q));
          });
        },
      ),
    );
  });

  it('is the same for two sketches added bin by bin as for one of all values', () => {
    const left = sketchOf([1, 5, 9]);
    const both = { ...left };
    for (const [bin, count] of Object.entries(sketchOf([2, 5, 100]))) both[bin] = (both[bin] ?? 0) + count;
    expect(both).toEqual(sketchOf([1, 5, 9, 2, 5, 100]));
  });

  it('has no quantile when it is empty', () => {
    expect(quantileOf({}, 0.95)).toBeNull();
    expect(quantileOf({ '+3': 0 }, 0.95)).toBeNull();
  });

  it('treats the largest and the least numbers as numbers', () => {
    expect(quantileOf(sketchOf([Number.MAX_VALUE]), 1)).toBeLessThanOrEqual(Number.MAX_VALUE);
    expect(quantileOf(sketchOf([5e-324]), 1)).toBe(0);
  });
});
