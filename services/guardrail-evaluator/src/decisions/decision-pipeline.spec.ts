import { canonicalJson, sha256Hex } from '@agentlens/contracts';
import { afterAll, describe, expect, it } from '@jest/globals';
import { bus, call, NOW, named, serviceIn } from './decision-pipeline.testing.ts';

afterAll(() => bus.close());

describe('orders', () => {
  const because = { id: 'order-1', scope: 'agent', reason: 'incident 7', since: '' } as const;

  it.each(['killed', 'paused'] as const)('end a %s run before anything else is checked', async (kind) => {
    const { ask, offered } = serviceIn({ controlState: { kind, because, modelOverride: null } });
    const decision = await ask();
    expect(decision).toMatchObject({
      ...{ verdict: 'BLOCK', control: 'TERMINATE', effect: 'terminate' },
      cause: { kind: 'LOCKDOWN', lockdownId: 'order-1' },
      message: `This agent is ${kind}: incident 7`,
    });
    expect(offered).toEqual([{ ...decision, decider: { by: 'evaluator' }, toolTags: [] }]);
  });
});

it('records why a gateway asked, and does not answer it', async () => {
  const { ask, offered } = serviceIn();
  const because = { asked: 'counted', askedForRule: 'rule-0' } as const;
  expect(await ask({ because })).not.toHaveProperty('decider');
  expect(offered).toMatchObject([{ decider: { by: 'evaluator', ...because } }]);
});

describe('rules', () => {
  it.each([
    ['block', {}, { verdict: 'BLOCK', control: 'CONTINUE', effect: 'block', message: 'Blocked by rule "Rule 0"' }],
    ['block', { message: 'Not here' }, { message: 'Not here' }],
    ['terminate_run', {}, { verdict: 'BLOCK', control: 'TERMINATE', effect: 'terminate' }],
  ])('%s %j', async (actionType, actionConfig, answer) => {
    const { ask } = serviceIn({ rules: [{ ...named('rm'), actionType, actionConfig }] });
    expect(await ask(call('rm'))).toMatchObject({
      ...answer,
      cause: { kind: 'RULE_VIOLATION', ruleId: 'rule-0' },
      finalRuleId: 'rule-0',
      evaluatedRules: [{ ruleId: 'rule-0', matched: true, violated: true, enabled: true }],
    });
    expect(await ask(call('ls'))).toMatchObject({ verdict: 'ALLOW', cause: { kind: 'ALLOW' } });
  });

  it('in shadow mode allow the call and record what they would have done', async () => {
    const { ask } = serviceIn({ rules: [{ ...named('rm'), actionType: 'block', mode: 'shadow' }] });
    expect(await ask(call('rm'))).toMatchObject({
      ...{ verdict: 'ALLOW', effect: 'allow', wouldHave: 'block', cause: { kind: 'ALLOW' } },
      evaluatedRules: [{ mode: 'shadow', violated: true }],
    });
  });

  it('receive the digest of the arguments; the arguments are not kept', async () => {
    const { ask, offered } = serviceIn();
    await ask({ args: { b: 1, a: 'secret' } });
    expect(offered[0]?.inputsDigest).toBe(sha256Hex(canonicalJson({ a: 'secret', b: 1 })));
    expect(JSON.stringify(offered)).not.toContain('secret');
  });
});

describe('bad input', () => {
  const argument = (fields: Record<string, unknown>) => ({
    conditionType: 'tool_argument',
    actionType: 'block',
    conditionConfig: fields,
  });

  it.each(['allow', 'block'] as const)('treats a size that the gateway left out as missing: %s', async (onMissing) => {
    const rule = { ...argument({ path: 'to', operator: 'contains', value: 'x' }), onMissing };
    const { ask } = serviceIn({ rules: [rule] });
    const unread = { args: { reason: 'too_large', sha256: 'abc' } } as const;
    const decision = await ask({ args: { to: null }, unread });
    expect(decision.verdict).toBe(onMissing === 'block' ? 'BLOCK' : 'ALLOW');
    expect(decision.bypasses).toEqual([{ ruleId: 'rule-0', why: 'missing', did: onMissing }]);
    expect(decision.inputsDigest).toBe('abc');
  });

  it('matches a malicious pattern in linear time', async () => {
    const { ask } = serviceIn({ rules: [argument({ path: 'q', operator: 'regex', value: '^(a+)+$' })] });
    const hostile = `${'a'.repeat(100_000)}!`;
    expect((await ask({ args: { q: hostile } })).verdict).toBe('ALLOW');
    expect((await ask({ args: { q: 'aaaa' } })).verdict).toBe('BLOCK');
  });

  it('from wrong clocks does not change what a run may do', async () => {
    const rule = { conditionType: 'max_calls', conditionConfig: { tools: ['*'], max: 3 }, actionType: 'block' };
    const { ask } = serviceIn({ rules: [rule] });
    for (const years of [0, 5, -5]) {
      const receivedAt = new Date(NOW + years * 31_536_000_000).toISOString();
      expect((await ask({ receivedAt })).verdict).toBe('ALLOW');
    }
    expect((await ask()).verdict).toBe('BLOCK');
  });
});
