import { COMMANDS } from '@agentlens/contracts';
import { eventually } from '@agentlens/testing';
import { describe, expect, it } from '@jest/globals';
import { replyValue } from './asking.ts';
import { aModelCall, decidingPlatform } from './deciding-platform.ts';

const platform = decidingPlatform();
const { newTenant, replica, stopAll, asking, limit, publish, budget, settled } = platform;

describe('a decision', () => {
  it('about an unknown run is complete, and is published after the answer', async () => {
    newTenant();
    await replica();
    const decision = await asking();
    expect(decision).toMatchObject({
      ...{ verdict: 'ALLOW', control: 'CONTINUE', effect: 'allow', cause: { kind: 'ALLOW' }, message: 'Allowed' },
      ...{ evaluatedRules: [], bypasses: [], toolName: 'search', runId: 'run-1' },
      inputsDigest: expect.stringMatching(/^[0-9a-f]{64}$/),
    });
    await eventually(() => expect(platform.published.map(({ id }) => id)).toContain(decision.id));
  });

  it('follows the rules of the tenant on every replica, and a blocked call is not counted', async () => {
    newTenant();
    const replicas = [await replica(), await replica()];
    const rule = await replyValue(
      platform.harness.bus.request(COMMANDS.createRule, {
        tenantId: platform.tenantId,
        body: {
          name: 'No deploys',
          conditionType: 'tool_name',
          conditionConfig: { operator: 'eq', value: 'deploy' },
          actionType: 'block',
        },
      }),
    );
    for (const { evaluator } of replicas)
      await eventually(() => expect(evaluator.rules.decisions.matching(question()).length).toBe(1));
    const answers = await Promise.all(Array.from({ length: 6 }, () => asking({ tool: { name: 'deploy', tags: [] } })));
    for (const answer of answers) {
      expect(answer).toMatchObject({ verdict: 'BLOCK', cause: { kind: 'RULE_VIOLATION', ruleId: rule.id } });
    }
    expect((await asking()).verdict).toBe('ALLOW');
  });
});

describe('two replicas at once', () => {
  const atMost = async (max: number) => {
    const body = {
      name: 'Few',
      conditionType: 'max_calls',
      conditionConfig: { tools: ['*'], max },
      actionType: 'block',
    };
    await replyValue(platform.harness.bus.request(COMMANDS.createRule, { tenantId: platform.tenantId, body }));
    return (evaluators: Awaited<ReturnType<typeof replica>>[]) =>
      eventually(() => {
        for (const { evaluator } of evaluators) expect(evaluator.rules.decisions.matching(question())).toHaveLength(1);
      });
  };
  const verdicts = async (callIds: readonly string[]) => {
    const answers = await Promise.all(callIds.map((callId) => asking({ callId, deadlineMs: 2_000 })));
    return answers.filter(({ verdict }) => verdict === 'ALLOW').length;
  };

  it('allow exactly as many calls as the rule permits', async () => {
    newTenant();
    const replicas = [await replica(), await replica()];
    await (await atMost(5))(replicas);
    expect(await verdicts(Array.from({ length: 30 }, (_, n) => `call-${n}`))).toBe(5);
  });

  it('count a call once if the agent asks both', async () => {
    newTenant();
    const replicas = [await replica(), await replica()];
    await (await atMost(2))(replicas);
    expect(await verdicts(Array.from({ length: 20 }, () => 'same'))).toBe(20);
    expect(await verdicts(['second', 'third'])).toBe(1);
  });
});

describe('a restart of every process in the middle of a run', () => {
  it('loses neither its calls nor its spending nor its breaker', async () => {
    newTenant();
    await replica();
    await limit('run', 'run-1', { maxTokens: 1_000, maxIterations: 100 });
    const money = await budget({ scope: 'run', limitUsd: 1 });
    await replyValue(
      platform.harness.bus.request(COMMANDS.createRule, {
        tenantId: platform.tenantId,
        body: {
          name: 'Twice is enough',
          conditionType: 'max_calls',
          conditionConfig: { tools: ['search'], max: 2 },
          actionType: 'block',
        },
      }),
    );
    await publish(aModelCall({ usage: { totalTokens: 900, costUsd: 0.6 } }));
    await settled();
    expect((await asking({ callId: '1' })).verdict).toBe('ALLOW');
    expect((await asking({ callId: '1' })).verdict).toBe('ALLOW');
    expect((await asking({ callId: '2' })).verdict).toBe('ALLOW');
    await stopAll();

    await replica();
    expect(await asking({ callId: '2' })).toMatchObject({ verdict: 'ALLOW' });
    expect(await asking({ callId: '3' })).toMatchObject({
      verdict: 'BLOCK',
      message: expect.stringContaining('Twice'),
    });
    const llm = { phase: 'llm.before', tool: undefined } as const;
    expect(await asking({ ...llm, estimate: { tokens: 1, costUsd: 0.5 } })).toMatchObject({
      cause: { kind: 'RULE_VIOLATION', ruleId: money.id },
    });
    await publish(aModelCall({ usage: { totalTokens: 101, costUsd: 0 } }));
    await settled();
    // The broker may not count the newest messages yet; settled would then mean settled before them.
    await eventually(async () =>
      expect((await asking({ tool: { name: 'read', tags: [] } })).message).toMatch(/open: tokens/),
    );
  });
});

const question = () => ({
  tenantId: platform.tenantId,
  agentId: 'agent-1',
  phase: 'tool.before' as const,
  tool: { name: 'deploy', tags: [] },
});
