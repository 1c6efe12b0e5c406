import { timeOrderedId } from '@agentlens/contracts';
import { eventually, HandlebarClient } from '@agentlens/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Client } from './support/client.ts';
import { startEmbedded } from './support/embedded.ts';
import type { PlatformUnderTest } from './support/platform-under-test.ts';
import { storyOf } from './support/story.ts';

/** An agent that uses only the six calls of the protocol, against the whole platform in one process. */
describe('an agent on the plain protocol', () => {
  let platform: PlatformUnderTest;
  let client: HandlebarClient;
  let operator: Client;

  beforeAll(async () => {
    platform = await startEmbedded();
    const { key } = await platform.keyOf('field', 'ingest', 'decide');
    client = new HandlebarClient({
      endpoint: platform.edges[0] ?? '',
      apiKey: key,
      agent: { slug: 'field-agent', name: 'Field agent' },
      tools: [{ name: 'search', tags: ['read'] }],
      retryBaseMs: 5,
    });
    await client.init();
    operator = new Client(platform, (await platform.keyOf('field', 'admin')).key);
  });

  afterAll(async () => {
    await platform?.stop();
  });

  it('has its whole run readable with each fact once, even if everything is sent twice', async () => {
    const runId = timeOrderedId(Date.now());
    const run = await client.startRun({ runId, sessionId: 's1', actor: { externalId: 'user-1' } });
    run.beforeLlm([{ role: 'user', content: 'find it' }]);
    run.afterLlm({ name: 'gpt-4o', provider: 'openai' }, { in: 1000, out: 200 });
    expect(await run.beforeTool('search', { q: 'x' }, ['read'])).toMatchObject({ verdict: 'ALLOW' });
    await run.afterTool('search', { q: 'x' }, { found: 1 }, 5);
    await run.end('success');
    await client.startRun({ runId, sessionId: 's1' });
    await client.endRun(runId, 'success');
    expect(client.calls.filter(({ status }) => status !== 200)).toEqual([]);
    await eventually(
      async () => {
        const { body } = await operator.get(`/api/events?sessionId=${runId}&limit=100`);
        const types = body.events.map((event: { eventType: string }) => event.eventType).toSorted();
        expect(types).toEqual([
          'llm.result',
          'message.raw.created',
          'run.ended',
          'run.started',
          'tool.decision',
          'tool.result',
        ]);
      },
      { timeoutMs: 20_000 },
    );
    const { body: session } = await operator.get(`/api/sessions/${runId}`);
    expect(session).toMatchObject({ id: runId, agentId: 'field-agent', status: 'completed', errorCount: 0 });
    expect(session.totalCostUsd).toBeGreaterThan(0);
    expect((await operator.get('/api/agents/field-agent')).body).toMatchObject({
      id: 'field-agent',
      name: 'Field agent',
    });
  });

  it('is blocked from a forbidden tool, with the rule that forbids it', async () => {
    const rule = await operator.post('/api/guardrails', {
      name: 'No deletes',
      conditionType: 'tool_name',
      conditionConfig: { value: 'delete*' },
      actionType: 'block',
      actionConfig: { message: 'Deleting is not for agents' },
    });
    expect(rule).toMatchObject({ status: 201 });
    const run = await client.startRun({ runId: timeOrderedId(Date.now()) });
    await eventually(async () => {
      expect(await run.beforeTool('delete_customer', { id: 7 })).toMatchObject({
        verdict: 'BLOCK',
        control: 'CONTINUE',
        cause: { kind: 'RULE_VIOLATION', ruleId: rule.body.id },
      });
    });
    expect(await run.beforeTool('search', { q: 'x' })).toMatchObject({ verdict: 'ALLOW' });
    await run.end('success');
  });

  it('is blocked, waits, trips its breaker and is killed in one run, all in one timeline', async () => {
    const rule = (name: string, value: string, actionType: string) =>
      operator.post('/api/guardrails', {
        ...{ name, conditionType: 'tool_name', conditionConfig: { value }, actionType, actionConfig: {} },
      });
    await rule('Nothing is dropped', 'drop_*', 'block');
    await rule('Payments need a human', 'pay', 'require_approval');
    await eventually(async () => expect(await platform.ruleCounts()).toEqual([3]));
    const runId = timeOrderedId(Date.now());
    const run = await client.startRun({ runId });
    const done: string[] = [];
    /** Like existing adapters: the tool runs only after an allow. */
    const call = async (tool: string, of: string) => {
      const decision = await run.beforeTool(tool, { of });
      if (decision.verdict === 'BLOCK') return decision;
      done.push(`${tool} ${of}`);
      await run.afterTool(tool, { of }, { ok: true }, 3);
      return decision;
    };
    await call('search', 'a');
    expect(await call('drop_table', 'users')).toMatchObject({ verdict: 'BLOCK', control: 'CONTINUE' });
    const { cause } = await call('pay', '7 EUR');
    expect(cause).toMatchObject({ kind: 'HITL_PENDING' });
    expect(done).toEqual(['search a']);
    expect((await operator.post(`/api/alerts/${cause.approvalId}/approve`, {})).status).toBe(200);
    expect(await call('pay', '7 EUR')).toMatchObject({ verdict: 'ALLOW' });
    let steps = 0;
    for (;;) {
      run.beforeLlm([{ role: 'user', content: `step ${steps}` }]);
      run.afterLlm({ name: 'gpt-4o', provider: 'openai' }, { in: 49_000, out: 1_000 });
      const decision = await call('search', `step ${steps}`);
      if (decision.verdict === 'BLOCK') {
        expect(decision).toMatchObject({ control: 'TERMINATE', cause: { kind: 'LOCKDOWN' } });
        break;
      }
      steps += 1;
    }
    // Four times 50,000 tokens reach the limit of 200,000 without exceeding it.
    expect(steps).toBe(4);
    const alerts = async () => (await operator.get(`/api/alerts?kind=breaker&runId=${runId}`)).body.alerts;
    await eventually(async () => expect(await alerts()).toMatchObject([{ status: 'pending' }]));
    expect((await operator.post(`/api/breakers/run/${runId}/reset`, {})).status).toBe(200);
    await eventually(async () => expect(await alerts()).toMatchObject([{ status: 'cancelled' }]));
    await eventually(async () => expect(await call('search', 'b')).toMatchObject({ verdict: 'ALLOW' }));
    await operator.post('/api/control', { scope: 'run', id: runId, state: 'killed', reason: 'enough', waitMs: 0 });
    await eventually(async () => expect((await client.startRun({ runId })).isLockedDown).toBe(true));
    expect(await call('look', 'c')).toMatchObject({ control: 'TERMINATE', cause: { kind: 'LOCKDOWN' } });
    expect(done).not.toContain('look c');
    expect(done).not.toContain('drop_table users');
    await run.end('interrupted');
    await eventually(
      async () => {
        const { body } = await operator.get(`/api/runs/${runId}/timeline?limit=500`);
        const story = storyOf(body.entries);
        const turns = ['drop_table BLOCK', 'approval opened', 'approval decided', 'approval used', 'pay ALLOW'];
        const ends = ['breaker opened', 'breaker decided', 'order killed', 'look BLOCK', 'run.ended'];
        expect(story.filter((one) => [...turns, ...ends].includes(one))).toEqual([...turns, ...ends]);
        expect(story).toContain('run.started');
      },
      { timeoutMs: 20_000 },
    );
    expect(client.calls.filter(({ status }) => status !== 200)).toEqual([]);
  });

  it('is stopped in the middle of a run, and gets the reason when it starts again', async () => {
    const runId = timeOrderedId(Date.now());
    const run = await client.startRun({ runId });
    expect(await run.beforeTool('search', { q: 'x' })).toMatchObject({ verdict: 'ALLOW' });
    const killed = await operator.post('/api/control', {
      scope: 'run',
      id: runId,
      state: 'killed',
      reason: 'runaway',
      waitMs: 0,
    });
    expect(killed.status).toBeLessThan(300);
    await eventually(async () => {
      expect(await run.beforeTool('search', { q: 'x' })).toMatchObject({
        verdict: 'BLOCK',
        control: 'TERMINATE',
        cause: { kind: 'LOCKDOWN' },
      });
    });
    expect((await client.startRun({ runId })).isLockedDown).toBe(true);
    expect((await client.startRun({ runId: timeOrderedId(Date.now()) })).isLockedDown).toBe(false);
    await run.end('interrupted');
  });
});
