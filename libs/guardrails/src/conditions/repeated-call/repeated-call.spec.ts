import { describe, expect, it } from '@jest/globals';
import { answerTo, aPastCall } from '../../decisions/call.testing.ts';

const before = (results: string[], config: object = { times: 3 }) =>
  answerTo(
    'repeated_call',
    config,
    {},
    { history: results.map((resultHash, i) => aPastCall({ callKey: `c${i}`, resultHash })) },
  );

describe('repeated_call', () => {
  it('matches once the same call gave the same result so many times', () => {
    expect(before(['r', 'r'])).toBe(false);
    expect(before(['r', 'r', 'r'])).toBe(true);
    expect(before(['x', 'r', 'r', 'r'])).toBe(true);
  });

  it('starts over when something new comes of it', () => {
    expect(before(['r', 'r', 'x', 'r', 'r'])).toBe(false);
    expect(before(['r', 'r', 'r', 'x'])).toBe(false);
  });

  it('counts any result where told to', () => {
    expect(before(['a', 'b', 'c'], { times: 3, sameResult: false })).toBe(true);
  });

  it('looks at exactly this call', () => {
    const history = ['a', 'b', 'c'].map((callKey) => aPastCall({ callKey, argsHash: 'other', resultHash: 'r' }));
    expect(answerTo('repeated_call', {}, {}, { history })).toBe(false);
    expect(answerTo('repeated_call', {}, { tool: { name: 'other', tags: [] } }, { argsHash: 'other', history })).toBe(
      false,
    );
    expect(answerTo('repeated_call', {}, {}, { argsHash: 'other', history })).toBe(true);
  });

  it('is unavailable without the history', () => {
    expect(answerTo('repeated_call', {}, {}, { history: 'unavailable' })).toBe('unavailable');
  });
});
