import { describe, expect, it } from '@jest/globals';
import { settleAll } from './promises.ts';

describe('settleAll', () => {
  it('answers what all of them answer, in order', async () => {
    expect(await settleAll([Promise.resolve(1), Promise.resolve(2)])).toEqual([1, 2]);
    expect(await settleAll([])).toEqual([]);
  });

  it('throws what the first was rejected with, once none is still going on', async () => {
    const slow = Promise.withResolvers<void>();
    let over = false;
    const all = settleAll([slow.promise, Promise.reject(new Error('first')), Promise.reject(new Error('second'))]);
    const seen = all.catch((error: Error) => {
      over = true;
      return error.message;
    });
    await new Promise(setImmediate);
    expect(over).toBe(false);
    slow.resolve();
    expect(await seen).toBe('first');
  });
});
