import { aTrigger } from '@agentlens/testing';
import { describe, expect, it } from '@jest/globals';
import { actionTools, answered } from '../action-tools.testing.ts';
import { agentgatePolicy as action } from './agentgate-policy.ts';

const config = action.config.parse({ agentgateUrl: 'https://gate.example/base/', policyId: 'a/b', apiKey: 'k-1' });

describe('agentgate_policy', () => {
  it('sends the policy in the format AgentGate expects', async () => {
    const tools = actionTools();
    const trigger = aTrigger();
    expect(await action.execute(config, trigger, tools)).toMatchObject({ kind: 'delivered', httpStatus: 200 });
    const [request] = tools.requests;
    expect(request).toMatchObject({
      method: 'PUT',
      url: 'https://gate.example/base/api/policies/a%2Fb',
      headers: { authorization: 'Bearer k-1' },
    });
    expect(JSON.parse(request?.body ?? '')).toEqual({
      action: 'restrict',
      reason: trigger.message,
      agentId: 'agent-1',
      triggeredBy: 'agentlens-guardrail',
      ruleId: 'rule-1',
    });
  });

  it('sends no authorization header without a key', async () => {
    const tools = actionTools();
    await action.execute(action.config.parse({ agentgateUrl: 'https://gate.example' }), aTrigger(), tools);
    expect(tools.requests[0]).toMatchObject({ url: 'https://gate.example/api/policies/default' });
    expect(tools.requests[0]?.headers).not.toHaveProperty('authorization');
  });

  it.each([
    [answered(503, { 'Retry-After': '7' }), { kind: 'retry', afterMs: 7000, destinationDown: true }],
    [answered(429), { kind: 'retry', destinationDown: false }],
    [answered(404), { kind: 'rejected', httpStatus: 404 }],
    [answered(302), { kind: 'rejected' }],
    [{ kind: 'unreachable', reason: 'reset' } as const, { kind: 'retry', destinationDown: true }],
    [{ kind: 'refused', reason: 'private' } as const, { kind: 'rejected', reason: 'private' }],
  ])('turns %j into %j', async (response, outcome) => {
    expect(await action.execute(config, aTrigger(), actionTools(response))).toMatchObject(outcome);
  });

  it.each([{}, { agentgateUrl: 'ftp://x' }, { agentgateUrl: 'gate.example' }])('rejects %j', (bad) =>
    expect(action.config.safeParse(bad).success).toBe(false),
  );
});
