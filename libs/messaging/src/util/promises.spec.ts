import { describe, expect, it } from '@jest/globals';
import { settleAll } from './promises.ts';

describe('settleAll', () => {
  it('returns all results in order', async () => {
    expect(await settleAll([Promise.resolve(1), Promise.resolve(2)])).toEqual([1, 2]);
    expect(await settleAll([])).toEqual([]);
  });

  it('throws the first rejection after all promises have settled', async () => {
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
