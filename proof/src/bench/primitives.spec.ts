import { describe, expect, it } from '@jest/globals';
import { factor, medianFactor, type Primitive } from './primitives.ts';

const took = (here: number, there: number): Primitive => ({ name: 'x', unit: 'ms', here, there });

describe('primitives', () => {
  it('are compared as a ratio of times', () => {
    expect(factor(took(3, 1.5))).toBe(2);
  });

  it('are summarized by the median, so that one outlier does not count', () => {
    expect(medianFactor([took(100, 1), took(2, 1), took(3, 1)])).toBe(3);
    expect(medianFactor([took(100, 1), took(2, 1), took(3, 1), took(1, 1)])).toBe(2.5);
  });

  it('have no median if nothing was measured', () => {
    expect(medianFactor([])).toBeNaN();
  });
});
