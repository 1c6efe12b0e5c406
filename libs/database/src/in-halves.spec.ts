import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { inHalves } from './in-halves.ts';

class Refusal extends Error {
  readonly code = '22P02';
}

describe('work on many items', () => {
  it('runs once for each valid item and returns results in order, for any set of rejected items', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.boolean(), { maxLength: 40 }), async (refused) => {
        const done: number[] = [];
        const answers = await inHalves(
          refused.map((_, n) => n),
          async (some) => {
            if (some.some((n) => refused[n])) throw new Refusal('no');
            done.push(...some);
            return some.map((n) => `done ${n}`);
          },
          (n) => `refused ${n}`,
        );
        expect(answers).toEqual(refused.map((no, n) => `${no ? 'refused' : 'done'} ${n}`));
        expect([...done].sort((a, b) => a - b)).toEqual(refused.flatMap((no, n) => (no ? [] : [n])));
      }),
    );
  });

  it('runs once if all items are valid, and is not retried if the database is unavailable', async () => {
    let asked = 0;
    const away = inHalves(
      [1, 2, 3],
      () => {
        asked += 1;
        return Promise.reject(new Error('away'));
      },
      () => 'refused',
    );
    await expect(away).rejects.toThrow('away');
    expect(asked).toBe(1);
  });
});
