import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { BatchPump } from './batch-pump.ts';

describe('a pump with a pace', () => {
  const waiting: number[] = [];
  const begun: (readonly number[])[] = [];
  let pump: BatchPump<number>;

  async function arrive(...items: number[]): Promise<void> {
    waiting.push(...items);
    pump.kick();
    await jest.advanceTimersByTimeAsync(0);
  }

  beforeEach(() => {
    jest.useFakeTimers();
    waiting.length = 0;
    begun.length = 0;
    const run = async (batch: readonly number[]) => void begun.push(batch);
    pump = new BatchPump((most) => waiting.splice(0, most), run, { maxBatch: 10, concurrency: 1, paceMs: 20 });
  });
  afterEach(() => void jest.useRealTimers());

  it('runs at once what comes after quiet, and together what follows', async () => {
    await arrive(1);
    expect(begun).toEqual([[1]]);
    await jest.advanceTimersByTimeAsync(5);
    await arrive(2);
    await arrive(3);
    await jest.advanceTimersByTimeAsync(14);
    expect(begun).toEqual([[1]]);
    await jest.advanceTimersByTimeAsync(1);
    expect(begun).toEqual([[1], [2, 3]]);
    await jest.advanceTimersByTimeAsync(20);
    await arrive(4);
    expect(begun).toEqual([[1], [2, 3], [4]]);
  });

  it('begins nothing once it is closed', async () => {
    await arrive(1);
    await arrive(2);
    await pump.close();
    await jest.advanceTimersByTimeAsync(1_000);
    expect(begun).toEqual([[1]]);
    expect(waiting).toEqual([2]);
  });
});
