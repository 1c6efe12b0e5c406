import { describe, expect, it } from '@jest/globals';
import { BACK_OFF_MS, backOff, retry } from './retry.ts';

const transient = new Error('not yet');
const isTransient = (error: unknown) => error === transient;

/** Throws the errors in order, then returns the number of attempts. */
function failing(...errors: readonly Error[]) {
  let tries = 0;
  return async () => {
    const error = errors[tries++];
    if (error !== undefined) throw error;
    return tries;
  };
}

describe('retry', () => {
  it('retries transient errors and reports only the first', async () => {
    const reported: unknown[] = [];
    const onFirstFailure = (error: unknown) => reported.push(error);
    const policy = { isTransient, forMs: 60_000, pauseMs: 1, onFirstFailure };
    expect(await retry(policy, failing(transient, transient))).toBe(3);
    expect(reported).toEqual([transient]);
  });

  it('throws an error that is not transient', async () => {
    const permanent = new Error('never');
    const policy = { isTransient, forMs: 60_000, pauseMs: 1 };
    await expect(retry(policy, failing(transient, permanent))).rejects.toBe(permanent);
  });

  it('throws the last error when the time is up', async () => {
    await expect(retry({ isTransient, forMs: 0 }, failing(transient))).rejects.toBe(transient);
  });
});

describe('backOff', () => {
  it('grows with every attempt up to a maximum', () => {
    expect([1, 2, 3, 7, 8, 1_000].map((attempt) => backOff(attempt))).toEqual([
      250, 500, 1_000, 30_000, 30_000, 30_000,
    ]);
    expect([...BACK_OFF_MS].sort((a, b) => a - b)).toEqual(BACK_OFF_MS);
  });
});
