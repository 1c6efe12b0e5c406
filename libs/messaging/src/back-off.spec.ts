import { describe, expect, it } from '@jest/globals';
import { BACK_OFF_MS, backOff } from './back-off.ts';

describe('back-off', () => {
  it('grows with every attempt and then stays', () => {
    expect([1, 2, 3, 7, 8, 1_000].map((attempt) => backOff(attempt))).toEqual([
      250, 500, 1_000, 30_000, 30_000, 30_000,
    ]);
    expect([...BACK_OFF_MS].sort((a, b) => a - b)).toEqual(BACK_OFF_MS);
  });
});
