import { describe, expect, it } from '@jest/globals';
import { answerTo } from '../../decisions/call.testing.ts';

const actor = (metadata?: Record<string, string>) => ({ actor: { externalId: 'u1', metadata } });

describe('enduser_tag', () => {
  it.each([
    ['yes', true],
    ['', false],
    ['0', false],
    ['False', false],
  ])('treats %j as %s', (value, answer) => {
    expect(answerTo('enduser_tag', { tag: 'vip' }, actor({ vip: value }))).toBe(answer);
  });

  it('compares values', () => {
    expect(
      answerTo('enduser_tag', { tag: 'plan', operator: 'hasValue', values: ['pro'] }, actor({ plan: 'pro' })),
    ).toBe(true);
    expect(
      answerTo('enduser_tag', { tag: 'plan', operator: 'hasValueAny', values: ['a', 'b'] }, actor({ plan: 'c' })),
    ).toBe(false);
  });

  it('is false without the tag and missing without an end user', () => {
    expect(answerTo('enduser_tag', { tag: 'toString' }, actor({}))).toBe(false);
    expect(answerTo('enduser_tag', { tag: 'vip' }, actor())).toBe(false);
    expect(answerTo('enduser_tag', { tag: 'vip' }, {})).toBe('missing');
  });

  it('requires values for comparisons and rejects them otherwise', () => {
    expect(() => answerTo('enduser_tag', { tag: 'a', operator: 'hasValue' }, {})).toThrow('list of values');
    expect(() => answerTo('enduser_tag', { tag: 'a', values: ['x'] }, {})).toThrow('list of values');
  });
});
