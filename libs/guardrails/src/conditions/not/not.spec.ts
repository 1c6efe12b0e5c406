import { describe, expect, it } from '@jest/globals';
import { answerTo } from '../../decisions/call.testing.ts';

describe('not', () => {
  it('negates an answer and keeps missing as missing', () => {
    const not = (config: object) => answerTo('not', { condition: config }, {});
    expect(not({ type: 'tool_name', config: { value: 'search' } })).toBe(false);
    expect(not({ type: 'tool_name', config: { value: 'other' } })).toBe(true);
    expect(not({ type: 'enduser_tag', config: { tag: 'vip' } })).toBe('missing');
  });
});
