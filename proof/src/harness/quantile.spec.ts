import { describe, expect, it } from '@jest/globals';
import { quantile } from './quantile.ts';

describe('a quantile', () => {
  it('is the value below which the given share lies, for any order of values', () => {
    const hundred = Array.from({ length: 100 }, (_, i) => (i * 37) % 100);
    expect([0, 0.5, 0.99, 1].map((q) => quantile(hundred, q))).toEqual([0, 50, 99, 99]);
  });

  it('is the value itself for a single value, and NaN for none', () => {
    expect(quantile([7], 0.99)).toBe(7);
    expect(quantile([], 0.99)).toBeNaN();
  });
});
