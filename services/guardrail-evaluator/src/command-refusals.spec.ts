import { StateUnavailable } from '@agentlens/state';
import { describe, expect, it } from '@jest/globals';
import { lastValueFrom } from 'rxjs';
import { StoreErrorFilter } from './command-refusals.ts';

describe('a command that cannot be stored', () => {
  const answerTo = (error: unknown) => lastValueFrom(new StoreErrorFilter().catch(error));

  it.each([
    ['the database is unavailable', Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' })],
    ['the state store is unavailable', new StateUnavailable('get', new Error('away'))],
  ])('is answered with 503 if %s, in words that fit rules, budgets and limits', async (_name, error) => {
    const answer = await answerTo(error);
    expect(answer).toMatchObject({
      ok: false,
      problem: { status: 503, hint: expect.stringContaining('read it back') },
    });
    expect(JSON.stringify(answer)).not.toMatch(/\brule/);
  });

  it('keeps any other error', async () => {
    await expect(answerTo(new TypeError('bug'))).rejects.toThrow('bug');
  });
});
