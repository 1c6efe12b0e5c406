import { describe, expect, it } from '@jest/globals';
import { isSteady } from './warm-up.ts';

describe('a warm-up', () => {
  it.each([
    ['nothing was measured', []],
    ['two slices happen to be alike', [200, 100, 100]],
    ['each slice is a little cheaper than the one before', [150, 144, 138]],
    ['the last slice was disturbed', [100, 100, 130]],
  ])('goes on while %s', (_, costs) => {
    expect(isSteady(costs)).toBe(false);
  });

  it('is over when three slices in a row cost alike', () => {
    expect(isSteady([300, 180, 104, 100, 101])).toBe(true);
  });
});
