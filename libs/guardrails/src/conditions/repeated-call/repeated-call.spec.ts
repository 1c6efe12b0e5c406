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
  it('matches once the same call has had the same result the configured number of times', () => {
    expect(before(['r', 'r'])).toBe(false);
    expect(before(['r', 'r', 'r'])).toBe(true);
    expect(before(['x', 'r', 'r', 'r'])).toBe(true);
  });

  it('restarts the count when the result changes', () => {
    expect(before(['r', 'r', 'x', 'r', 'r'])).toBe(false);
    expect(before(['r', 'r', 'r', 'x'])).toBe(false);
  });

  it('counts any result if sameResult is false', () => {
    expect(before(['a', 'b', 'c'], { times: 3, sameResult: false })).toBe(true);
  });

  it('counts only calls with the same tool and arguments', () => {
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
