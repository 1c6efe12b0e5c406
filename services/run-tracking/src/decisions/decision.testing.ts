import type { Decision } from '@agentlens/contracts';
import type { Received } from '@agentlens/messaging';

/** A decision that blocked a tool. */
export function aDecision(fields: Partial<Decision> = {}): Decision {
  return {
    id: 'decision-1',
    tenantId: 'acme',
    agentId: 'agent',
    runId: 'run',
    phase: 'tool.before',
    toolName: 'pay',
    verdict: 'BLOCK',
    control: 'CONTINUE',
    effect: 'block',
    cause: { kind: 'RULE_VIOLATION', ruleId: 'rule-1' },
    message: 'Not after ten in the evening',
    evaluatedRules: [
      {
        ruleId: 'rule-1',
        ruleVersion: 1,
        enabled: true,
        matched: true,
        violated: true,
        effect: 'block',
        mode: 'enforce',
      },
    ],
    finalRuleId: 'rule-1',
    bypasses: [],
    inputsDigest: 'd'.repeat(64),
    latencyMs: 0.4,
    decidedAt: '2026-03-01T12:00:00.000Z',
    ...fields,
  };
}

/** A decision as a message of the bus. */
export function decisionMessage(decision: Decision, attempt = 1): Received<Decision> {
  return {
    value: decision,
    raw: Buffer.from(JSON.stringify(decision)),
    subject: `decision.decided.${decision.tenantId}`,
    messageId: decision.id,
    attempt,
    sequence: 1,
    publishedAtMs: Date.parse(decision.decidedAt),
    headers: {},
  };
}
