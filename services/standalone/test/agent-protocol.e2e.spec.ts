import { timeOrderedId } from '@agentlens/contracts';
import { eventually, HandlebarClient } from '@agentlens/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Client } from './support/client.ts';
import { startEmbedded } from './support/embedded.ts';
import type { PlatformUnderTest } from './support/platform-under-test.ts';

/** An agent that speaks only the six calls of the protocol, against the whole platform in one process. */
describe('an agent of the field', () => {
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
  }, 120_000);

  afterAll(async () => {
    await platform?.stop();
  }, 60_000);

  it('has its whole run readable, each fact once, also when everything is told twice', async () => {
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

  it('is refused a forbidden tool, with the rule that forbids it', async () => {
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

  it('is stopped in the middle of a run, and told so when it starts again', async () => {
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
