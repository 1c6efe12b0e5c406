import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { meets, meetsWithoutNoise, OPERATORS, type Operator, withoutNoise } from './threshold.ts';

describe('meets', () => {
  it.each<[Operator, boolean, boolean, boolean]>([
    ['gt', false, false, true],
    ['gte', false, true, true],
    ['lt', true, false, false],
    ['lte', true, true, false],
    ['eq', false, true, false],
  ])('compares with %s below, at and above the limit', (operator, below, at, above) => {
    const threshold = { operator, value: 10 };
    expect([9, 10, 11].map((value) => meets(value, threshold))).toEqual([below, at, above]);
    expect(meets(Number.NaN, threshold)).toBe(false);
  });
});

describe('withoutNoise', () => {
  it('keeps a boundary of decimal fractions', () => {
    expect(0.7 + 0.1 >= 0.8).toBe(false);
    expect(withoutNoise(0.7 + 0.1)).toBe(0.8);
  });

  it('keeps whole numbers exactly', () => expect(withoutNoise(9_007_199_254_740_991)).toBe(9_007_199_254_740_991));
});

describe('meetsWithoutNoise', () => {
  const limits = fc.oneof(fc.double({ noNaN: true, noDefaultInfinity: true }), fc.constantFrom(0, 0.8, 1e-300, -30));
  /** Relative distances to the limit: within rounding noise, and far away. */
  const offsets = fc.oneof(
    fc.double({ min: -3e-11, max: 3e-11, noNaN: true }),
    fc.double({ min: -2, max: 2, noNaN: true }),
  );

  it('equals a comparison with the noise removed', () => {
    fc.assert(
      fc.property(limits, offsets, fc.constantFrom(...OPERATORS), (value, offset, operator) => {
        const measured = Math.max(-Number.MAX_VALUE, Math.min(Number.MAX_VALUE, value + value * offset));
        const threshold = { operator, value };
        expect(meetsWithoutNoise(measured, threshold)).toBe(meets(withoutNoise(measured), threshold));
      }),
      { numRuns: 2_000 },
    );
  });
});
