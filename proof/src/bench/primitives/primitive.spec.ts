import { describe, expect, it } from '@jest/globals';
import { factor, medianFactor, type Primitive } from './primitive.ts';

const took = (here: number, there: number): Primitive => ({ name: 'x', unit: 'ms', here, there });

describe('primitives', () => {
  it('are compared as how many times as long they took', () => {
    expect(factor(took(3, 1.5))).toBe(2);
  });

  it('are summed up by the middle one, so that one odd figure counts for nothing', () => {
    expect(medianFactor([took(100, 1), took(2, 1), took(3, 1)])).toBe(3);
    expect(medianFactor([took(100, 1), took(2, 1), took(3, 1), took(1, 1)])).toBe(2.5);
  });

  it('say that there is no middle where nothing was measured', () => {
    expect(medianFactor([])).toBeNaN();
  });
});
