import { eventually } from '@agentlens/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type Answer, Client } from './support/client.ts';
import { startDistributed } from './support/distributed.ts';
import { startEmbedded } from './support/embedded.ts';
import { spending } from './support/events.ts';
import { makeRules } from './support/loaded-settings.ts';
import type { PlatformUnderTest } from './support/platform-under-test.ts';

/** Time for one call or change on a busy machine. */
const PATIENTLY = { timeoutMs: 30_000 };

describe.each([
  ['one process', startEmbedded],
  ['services on NATS and Redis', startDistributed],
] as const)('a gateway that decides, in %s', (_, start) => {
  let platform: PlatformUnderTest;
  let admin: Client;
  let agent: Client;
  beforeAll(async () => {
    platform = await start();
    admin = new Client(platform, (await platform.keyOf('acme', 'admin', 'read')).key);
    agent = new Client(platform, (await platform.keyOf('acme', 'ingest', 'decide')).key);
  });
  afterAll(() => platform?.stop());

  const evaluate = (runId: string, tool: string) =>
    agent.post(`/v1/runs/${runId}/evaluate`, {
      ...{ phase: 'tool.before', agentId: 'shopper', tool: { name: tool }, args: { amount: 10 }, tags: {} },
      deadlineMs: 5_000,
    });
  const decider = ({ headers }: Answer) => headers.get('x-agentlens-decided-by');
  /** Asks until the gateway decides. */
  const decidedHere = (runId: string, tool: string, answer: object) =>
    eventually(async () => {
      const answered = await evaluate(runId, tool);
      expect([decider(answered), answered.body]).toEqual(['gateway', expect.objectContaining(answer)]);
    }, PATIENTLY);

  it('asks about the first call of a run, and decides the next ones', async () => {
    expect(decider(await evaluate('run-1', 'search'))).toBe('evaluator');
    await decidedHere('run-1', 'search', { verdict: 'ALLOW' });
  });

  it('applies a rule from the moment it is made, and until it is deleted', async () => {
    const made = await admin.post('/api/guardrails', {
      ...{ name: 'No payments', conditionType: 'tool_name', conditionConfig: { value: 'pay' }, actionType: 'block' },
    });
    expect(made.status).toBe(201);
    await decidedHere('run-1', 'pay', { verdict: 'BLOCK', cause: { kind: 'RULE_VIOLATION', ruleId: made.body.id } });
    expect((await admin.delete(`/api/guardrails/${made.body.id}`)).status).toBe(200);
    await decidedHere('run-1', 'pay', { verdict: 'ALLOW' });
  });

  it('stores what it decided like any other decision', async () => {
    await eventually(async () => {
      const { body } = await admin.get('/api/decisions?agentId=shopper&toolName=pay&effect=block');
      expect(body.decisions).toContainEqual(
        expect.objectContaining({
          ...{ verdict: 'BLOCK', reason: 'rule', runId: 'run-1' },
          decider: { by: 'gateway', book: expect.any(String) },
        }),
      );
    }, PATIENTLY);
  });

  it('asks about every call that a rule counts', async () => {
    const twoSearches = {
      ...{ name: 'Two searches', conditionType: 'max_calls', conditionConfig: { tools: ['search'], max: 2 } },
      ...{ actionType: 'block', agentId: 'shopper' },
    };
    // An evaluator that has not loaded the rule would not count a call.
    const [ruleId] = await makeRules(platform, admin, [twoSearches]);
    await eventually(async () => expect(decider(await evaluate('run-1', 'look'))).toBe('evaluator'), PATIENTLY);
    for (const verdict of ['ALLOW', 'ALLOW', 'BLOCK']) {
      const answered = await evaluate('run-2', 'search');
      expect([decider(answered), answered.body.verdict]).toEqual(['evaluator', verdict]);
    }
    await eventually(async () => {
      // On a busy machine, the questions above were asked before the gateway knew the rule.
      await evaluate('run-2', 'search');
      const { body } = await admin.get('/api/decision-paths');
      expect(body).toMatchObject({ gateway: expect.any(Number), evaluator: expect.any(Number), unanswered: 0 });
      expect(body.asked).toContainEqual(
        expect.objectContaining({ reason: 'needs_state', ruleId, ruleName: 'Two searches' }),
      );
    }, PATIENTLY);
    await admin.delete(`/api/guardrails/${ruleId}`);
    await decidedHere('run-1', 'search', { verdict: 'ALLOW' });
  });

  it('stops a run whose events reach a limit', async () => {
    await decidedHere('run-3', 'search', { verdict: 'ALLOW' });
    // More than the default limit of a run.
    expect((await agent.post('/api/events', { events: [spending('shopper', 'run-3', 50)] })).status).toBe(201);
    await eventually(
      async () => expect((await evaluate('run-3', 'search')).body).toMatchObject({ cause: { kind: 'LOCKDOWN' } }),
      PATIENTLY,
    );
    await decidedHere('run-1', 'search', { verdict: 'ALLOW' });
  });

  it('asks about every call of a tenant whose setting says so', async () => {
    const set = (decisionPath: string) => admin.patch('/api/settings', { decisionPath });
    expect(await set('nowhere')).toMatchObject({ status: 400, body: { details: [{ path: 'decisionPath' }] } });
    expect(await set('evaluator')).toMatchObject({ status: 200, body: { decisionPath: 'evaluator' } });
    // A gateway that decides gives a reason when it asks.
    await eventually(async () => {
      expect(decider(await evaluate('run-4', 'search'))).toBe('evaluator');
      const { body } = await admin.get('/api/decisions?runId=run-4&limit=1');
      expect(body.decisions[0]?.decider).toEqual({ by: 'evaluator' });
    }, PATIENTLY);
    expect((await set('gateway')).status).toBe(200);
    await decidedHere('run-1', 'search', { verdict: 'ALLOW' });
  });

  it('applies a kill itself', async () => {
    const order = { scope: 'agent', scopeId: 'shopper', state: 'killed', reason: 'incident 7' };
    expect((await admin.post('/api/control', { ...order, waitMs: 0 })).status).toBe(200);
    await decidedHere('run-1', 'search', { verdict: 'BLOCK', control: 'TERMINATE' });
  });
});

describe('a gateway that asks about every call', () => {
  let platform: PlatformUnderTest;
  beforeAll(async () => {
    platform = await startEmbedded({ env: { AGENTLENS_DECISION_PATH: 'evaluator' } });
  });
  afterAll(() => platform?.stop());

  it('leaves all decisions to the evaluator', async () => {
    const agent = new Client(platform, (await platform.keyOf('acme', 'ingest', 'decide')).key);
    for (let asked = 0; asked < 3; asked++) {
      const { headers, body } = await agent.post('/v1/runs/run-1/evaluate', {
        ...{ phase: 'tool.before', agentId: 'shopper', tool: { name: 'search' }, args: {}, tags: {} },
      });
      expect([headers.get('x-agentlens-decided-by'), body.verdict]).toEqual(['evaluator', 'ALLOW']);
    }
  });
});
