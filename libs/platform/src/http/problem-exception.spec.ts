import { describe, expect, it } from '@jest/globals';
import { ProblemException } from './problem-exception.ts';

describe('the HTTP error for a rejected command', () => {
  it('has the same contents and nothing more', () => {
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

  it('has Retry-After if the owner is temporarily unavailable', () => {
    expect(ProblemException.from({ error: 'Away', status: 503 }).headers).toEqual({ 'retry-after': '5' });
  });
});
