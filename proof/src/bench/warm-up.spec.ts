import { describe, expect, it } from '@jest/globals';
import { untilSteady } from './warm-up.ts';

const MAX_SLICES = 6;

describe('a warm-up', () => {
  it.each([
    ['two slices happen to cost the same', [200, 100, 100]],
    ['each slice is slightly cheaper than the previous one', [150, 144, 138]],
    ['the last slice was disturbed', [100, 100, 130]],
  ])('continues while %s', async (_, costs) => {
    expect(await slicesTaken(costs)).toBeGreaterThan(costs.length);
  });

  it('ends when three consecutive slices cost the same', async () => {
    expect(await slicesTaken([300, 180, 104, 100, 101])).toBe(5);
  });

  it('ends after the maximum number of slices if they never do', async () => {
    expect(await slicesTaken([100, 200, 100, 200, 100, 200, 100])).toBe(MAX_SLICES);
  });
});

/** Slices with these costs; each later one costs twice the previous one. */
async function slicesTaken(costs: readonly number[]): Promise<number> {
  let taken = 0;
  await untilSteady(MAX_SLICES, async (before) => {
    expect(before).toHaveLength(taken);
    taken += 1;
    return costs[before.length] ?? 2 * (before.at(-1) ?? 1);
  });
  return taken;
}
