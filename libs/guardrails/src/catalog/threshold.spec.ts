import { describe, expect, it } from '@jest/globals';
import { meets, type Operator, withoutNoise } from './threshold.ts';

describe('meets', () => {
  it.each<[Operator, boolean, boolean, boolean]>([
    ['gt', false, false, true],
    ['gte', false, true, true],
    ['lt', true, false, false],
    ['lte', true, true, false],
    ['eq', false, true, false],
  ])('%s below, at and above the limit', (operator, below, at, above) => {
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
