import { describe, expect, it } from '@jest/globals';
import type { Decision } from '../../decisions.ts';
import { decisionBody, decisionBodyWithExtras } from './decision-body.ts';

const DECISION: Decision = {
  ...{ id: 'd1', tenantId: 'acme', agentId: 'a', runId: 'r', phase: 'tool.before', toolName: 'pay' },
  ...{ verdict: 'ALLOW', control: 'CONTINUE', effect: 'allow', wouldHave: 'block', cause: { kind: 'ALLOW' } },
  ...{ message: 'Allowed', bypasses: [], inputsDigest: 'x', latencyMs: 1, decidedAt: '2026-03-01T00:00:00.000Z' },
  evaluatedRules: [
    {
      ...{
        ruleId: 'r1',
        ruleVersion: 1,
        enabled: true,
        matched: true,
        violated: true,
        effect: 'block',
        mode: 'shadow',
      },
      ...{ value: 7777, limit: 3333 },
    },
  ],
};

describe('a decision as sent to an agent', () => {
  it.each([decisionBody, decisionBodyWithExtras])('contains neither the measured value nor the limit: %p', (body) => {
    const text = JSON.stringify(body(DECISION));
    expect(text).not.toContain('7777');
    expect(text).not.toContain('3333');
  });

  it('includes the most severe effect of all rules for clients with extensions', () => {
    expect(decisionBodyWithExtras(DECISION).effect).toBe('block');
    expect(decisionBodyWithExtras({ ...DECISION, wouldHave: undefined }).effect).toBe('allow');
  });

  it('leaves out what only concerns a rule in shadow', () => {
    const late = { ruleId: 'r1', why: 'deadline' as const, did: 'allow' as const };
    const bypasses = [{ ...late, why: 'canary_unit' as const }, late];
    expect(decisionBodyWithExtras({ ...DECISION, bypasses }).bypasses).toEqual([late]);
  });
});
