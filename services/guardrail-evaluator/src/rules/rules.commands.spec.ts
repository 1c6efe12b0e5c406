import { StateUnavailable } from '@agentlens/state';
import { describe, expect, it } from '@jest/globals';
import { orAway } from './rules.commands.ts';

describe('a change whose owner cannot store it', () => {
  it.each([
    ['the database is away', Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' })],
    ['the state store is away', new StateUnavailable('get', new Error('away'))],
  ])('is answered 503 where %s, with words that fit rules, budgets and limits alike', async (_name, error) => {
    const answer = await orAway(Promise.reject(error));
    expect(answer).toMatchObject({
      ok: false,
      problem: { status: 503, hint: expect.stringContaining('read it back') },
    });
    expect(JSON.stringify(answer)).not.toMatch(/\brule/);
  });

  it('is not answered so where something else is wrong', async () => {
    await expect(orAway(Promise.reject(new TypeError('bug')))).rejects.toThrow('bug');
  });
});
