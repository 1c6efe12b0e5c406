import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { BatchPump } from './batch-pump.ts';

describe('batch pump with a pace', () => {
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
    pump = new BatchPump((max) => waiting.splice(0, max), run, { maxBatch: 10, concurrency: 1, paceMs: 20 });
  });
  afterEach(() => void jest.useRealTimers());

  it('starts the first batch immediately and batches what arrives within the interval', async () => {
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

  it('starts no batch after it was closed', async () => {
    await arrive(1);
    await arrive(2);
    await pump.close();
    await jest.advanceTimersByTimeAsync(1_000);
    expect(begun).toEqual([[1]]);
    expect(waiting).toEqual([2]);
  });
});
