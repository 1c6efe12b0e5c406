import { describe, expect, it } from '@jest/globals';
import { answerTo } from '../../decisions/call.testing.ts';

const named = (value: string) => ({ type: 'tool_name', config: { value } });
const tagged = { type: 'enduser_tag', config: { tag: 'vip' } };

describe('any', () => {
  it('holds where one does', () => {
    expect(answerTo('any', { conditions: [named('x'), named('s*')] }, {})).toBe(true);
    expect(answerTo('any', { conditions: [named('x'), named('y')] }, {})).toBe(false);
  });

  it('is missing where it hangs on something missing, and only then', () => {
    expect(answerTo('any', { conditions: [named('x'), tagged] }, {})).toBe('missing');
    expect(answerTo('any', { conditions: [named('s*'), tagged] }, {})).toBe(true);
  });
});
