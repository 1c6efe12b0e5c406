import { describe, expect, it } from '@jest/globals';
import { againWhile } from './again-while.ts';

const passing = new Error('not yet');
const isPassing = (error: unknown) => error === passing;

/** Fails as often as there are errors, and says then how often it was tried. */
function failing(...errors: readonly Error[]) {
  let tries = 0;
  return async () => {
    const error = errors[tries++];
    if (error !== undefined) throw error;
    return tries;
  };
}

describe('work that may be done again', () => {
  it('is, until it succeeds, and the first failure is told of', async () => {
    const told: unknown[] = [];
    const patience = { forMs: 60_000, pauseMs: 1, onFirstFailure: (error: unknown) => told.push(error) };
    expect(await againWhile(isPassing, patience, failing(passing, passing))).toBe(3);
    expect(told).toEqual([passing]);
  });

  it('ends with what does not pass', async () => {
    const lasting = new Error('never');
    await expect(againWhile(isPassing, { forMs: 60_000, pauseMs: 1 }, failing(passing, lasting))).rejects.toBe(lasting);
  });

  it('ends with its last error when its time is over', async () => {
    await expect(againWhile(isPassing, { forMs: 0 }, failing(passing))).rejects.toBe(passing);
  });
});
