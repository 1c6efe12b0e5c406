import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { Repeating } from './schedule.ts';

describe('Repeating', () => {
  beforeEach(() => void jest.useFakeTimers());
  afterEach(() => void jest.useRealTimers());

  it('starts the next run after the delay that the previous run returned', async () => {
    const waits = [100, 20, 1_000];
    const turn = jest.fn(async () => waits.shift() ?? 1_000);
    const repeating = new Repeating(turn);
    repeating.start(5);
    for (const [ms, turns] of [
      [4, 0],
      [1, 1],
      [99, 1],
      [1, 2],
      [20, 3],
    ] as const) {
      await jest.advanceTimersByTimeAsync(ms);
      expect(turn).toHaveBeenCalledTimes(turns);
    }
    await repeating.stop();
  });

  it('waits for the current run on stop and starts no other', async () => {
    const { promise, resolve } = Promise.withResolvers<number>();
    const turn = jest.fn(() => promise);
    const repeating = new Repeating(turn);
    repeating.start(0);
    await jest.advanceTimersByTimeAsync(0);
    let stopped = false;
    const stopping = repeating.stop().then(() => {
      stopped = true;
    });
    await jest.advanceTimersByTimeAsync(10_000);
    expect(stopped).toBe(false);
    resolve(1);
    await stopping;
    await jest.advanceTimersByTimeAsync(10_000);
    expect(turn).toHaveBeenCalledTimes(1);
    repeating.start(0);
    await jest.advanceTimersByTimeAsync(0);
    expect(turn).toHaveBeenCalledTimes(2);
  });
});
