import { describe, expect, it } from '@jest/globals';
import { untilSteady } from './warm-up.ts';

const MOST = 6;

describe('a warm-up', () => {
  it.each([
    ['two slices happen to be alike', [200, 100, 100]],
    ['each slice is a little cheaper than the one before', [150, 144, 138]],
    ['the last slice was disturbed', [100, 100, 130]],
  ])('goes on while %s', async (_, costs) => {
    expect(await slicesTaken(costs)).toBeGreaterThan(costs.length);
  });

  it('is over when three slices in a row cost alike', async () => {
    expect(await slicesTaken([300, 180, 104, 100, 101])).toBe(5);
  });

  it('is over after so many slices where they never do', async () => {
    expect(await slicesTaken([100, 200, 100, 200, 100, 200, 100])).toBe(MOST);
  });
});

/** Of slices that cost this, and twice the one before from then on. */
async function slicesTaken(costs: readonly number[]): Promise<number> {
  let taken = 0;
  await untilSteady(MOST, async (before) => {
    expect(before).toHaveLength(taken);
    taken += 1;
    return costs[before.length] ?? 2 * (before.at(-1) ?? 1);
  });
  return taken;
}
