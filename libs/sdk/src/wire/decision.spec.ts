import { describe, expect, it } from '@jest/globals';
import { readDecision } from './decision.ts';

const whole = {
  verdict: 'BLOCK',
  control: 'CONTINUE',
  cause: { kind: 'RULE_VIOLATION', ruleId: 'r1' },
  message: 'no',
  evaluatedRules: [{ ruleId: 'r1', enabled: true, matched: true, violated: true }],
};

describe('an answer of the server', () => {
  it('is read with the additions it knows, and without those it does not', () => {
    expect(readDecision({ ...whole, finalRuleId: 'r1', modifiedArgs: null, decisionId: 'd' })).toEqual({
      ...whole,
      finalRuleId: 'r1',
      modifiedArgs: null,
    });
  });

  it('tells what could not be evaluated, and of what it cannot read that something was not', () => {
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
    ['a message that is none', { ...whole, message: 4 }],
    ['rules that are none', { ...whole, evaluatedRules: [{ ruleId: 'r1' }] }],
    ['no rules', { ...whole, evaluatedRules: undefined }],
  ])('is no answer when it is %s', (_, body) => {
    expect(readDecision(body)).toBeNull();
  });
});
