import { describe, expect, it } from '@jest/globals';
import { answerTo } from '../../decisions/call.testing.ts';

const named = (value: string) => ({ type: 'tool_name', config: { value } });
const tagged = { type: 'enduser_tag', config: { tag: 'vip' } };

describe('any', () => {
  it('matches if one condition matches', () => {
    expect(answerTo('any', { conditions: [named('x'), named('s*')] }, {})).toBe(true);
    expect(answerTo('any', { conditions: [named('x'), named('y')] }, {})).toBe(false);
  });

  it('is missing only if a missing condition decides the result', () => {
    expect(answerTo('any', { conditions: [named('x'), tagged] }, {})).toBe('missing');
    expect(answerTo('any', { conditions: [named('s*'), tagged] }, {})).toBe(true);
  });
});
