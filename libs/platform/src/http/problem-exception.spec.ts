import { describe, expect, it } from '@jest/globals';
import { ProblemException } from './problem-exception.ts';

describe('the refusal of an owner', () => {
  it('says the same, without more', () => {
    const problem = {
      error: 'Not valid',
      code: 'not_valid',
      status: 422,
      details: [{ path: 'name', message: 'is required' }],
      hint: 'Name it.',
    };
    const refusal = ProblemException.from(problem);
    expect(refusal.getStatus()).toBe(422);
    expect(refusal.getResponse()).toEqual(problem);
    expect(refusal.headers).toEqual({});
  });

  it('says when to come back where the owner cannot now', () => {
    expect(ProblemException.from({ error: 'Away', status: 503 }).headers).toEqual({ 'retry-after': '5' });
  });
});
