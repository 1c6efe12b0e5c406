import { describe, expect, it } from '@jest/globals';
import { GatheredReads } from './gathered-reads.ts';

describe('gathered reads', () => {
  it('read with one statement what is asked for in one turn, and each gets its own', async () => {
    const asked: (readonly string[])[] = [];
    const reads = new GatheredReads<string, number>(
      async (keys) => {
        asked.push(keys);
        return new Map(keys.filter((key) => key !== 'none').map((key) => [key, key.length]));
      },
      (key) => key,
    );
    expect(await Promise.all(['a', 'bb', 'none', 'a'].map((key) => reads.read(key)))).toEqual([1, 2, undefined, 1]);
    expect(await reads.read('ccc')).toBe(3);
    expect(asked).toEqual([['a', 'bb', 'none', 'a'], ['ccc']]);
  });

  it('reject all that a failed statement was for, and read again after it', async () => {
    let fails = true;
    const reads = new GatheredReads<string, string>(
      async (keys) => {
        if (fails) throw new Error('away');
        return new Map(keys.map((key) => [key, key]));
      },
      (key) => key,
    );
    const failed = await Promise.allSettled([reads.read('a'), reads.read('b')]);
    expect(failed.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    fails = false;
    expect(await reads.read('a')).toBe('a');
  });
});
