import { describe, expect, it } from '@jest/globals';
import { readDecision } from './decision.ts';

const whole = {
  verdict: 'BLOCK',
  control: 'CONTINUE',
  cause: { kind: 'RULE_VIOLATION', ruleId: 'r1' },
  message: 'no',
  evaluatedRules: [{ ruleId: 'r1', enabled: true, matched: true, violated: true }],
};

describe('a server answer', () => {
  it('keeps the extensions it knows and drops unknown ones', () => {
    expect(readDecision({ ...whole, finalRuleId: 'r1', modifiedArgs: null, decisionId: 'd' })).toEqual({
      ...whole,
      finalRuleId: 'r1',
      modifiedArgs: null,
    });
  });

  it('reports what could not be evaluated, and treats an unreadable bypass as one', () => {
    const bypass = { ruleId: 'r2', why: 'deadline', did: 'allow' };
    const unreadable = { ruleId: '*', why: 'error', did: 'allow' };
    expect(readDecision({ ...whole, bypasses: [bypass, null, { ruleId: 4 }] })).toEqual({
      ...whole,
      bypasses: [bypass, unreadable, unreadable],
    });
    expect(readDecision({ ...whole, bypasses: 'none' })).toEqual({ ...whole, bypasses: [unreadable] });
  });

  it.each([
    ['nothing', undefined],
    ['text', '<html>'],
    ['a list', [whole]],
    ['another verdict', { ...whole, verdict: 'allow' }],
    ['no control', { ...whole, control: undefined }],
    ['no cause', { ...whole, cause: null }],
    ['an unknown cause', { ...whole, cause: { kind: 'MOOD' } }],
    ['an inherited cause', { ...whole, cause: { kind: 'constructor' } }],
    ['a cause without its rule', { ...whole, cause: { kind: 'RULE_VIOLATION' } }],
    ['a message that is not text', { ...whole, message: 4 }],
    ['invalid rules', { ...whole, evaluatedRules: [{ ruleId: 'r1' }] }],
    ['no rules', { ...whole, evaluatedRules: undefined }],
  ])('is rejected when it is %s', (_, body) => {
    expect(readDecision(body)).toBeNull();
  });
});
