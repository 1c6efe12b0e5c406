import { eventually } from '@agentlens/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Client } from './support/client.ts';
import { startEmbedded } from './support/embedded.ts';
import type { PlatformUnderTest } from './support/platform-under-test.ts';

/** One process on embedded Postgres, so that nothing else can remember what is counted. */
describe('a restart of the one process in the middle of a run', () => {
  let platform: PlatformUnderTest;
  let agent: Client;
  beforeAll(async () => {
    platform = await startEmbedded();
    const admin = new Client(platform, (await platform.keyOf('acme', 'admin')).key);
    agent = new Client(platform, (await platform.keyOf('acme', 'ingest', 'decide')).key);
    const block = async (name: string, conditionType: string, conditionConfig: object, tool: string) => {
      const selector = { tools: [tool] };
      const rule = { name, conditionType, conditionConfig, actionType: 'block', selector };
      expect(await admin.post('/api/guardrails', rule)).toMatchObject({ status: 201 });
    };
    await block('Twice', 'max_calls', { tools: ['search'], max: 2 }, 'search');
    await block('Unverified', 'sequence', { mustHaveCalled: [{ tools: ['verify'] }] }, 'pay');
    await block('Guests', 'enduser_tag', { operator: 'hasValue', tag: 'plan', values: ['guest'] }, 'export');
    await block('Costly', 'cost_limit', { maxCostUsd: 1, scope: 'daily' }, 'model');
    await eventually(async () => expect(await platform.ruleCounts()).toEqual([4]));
  });
  afterAll(() => platform?.stop());

  const verdict = async (name: string) => {
    const question = { phase: 'tool.before', agentId: 'bot', tool: { name }, args: {}, tags: {} };
    const { status, body } = await agent.post('/v1/runs/run-1/evaluate', question);
    expect(status).toBe(200);
    return body.verdict;
  };

  it('loses neither its calls, nor their order, nor the counts, nor the context of its start', async () => {
    const actor = { externalId: 'u1', metadata: { plan: 'guest' } };
    expect((await agent.post('/v1/runs/run-1/start', { agentId: 'bot', actor })).status).toBe(200);
    expect(await verdict('pay')).toBe('BLOCK');
    for (const tool of ['search', 'search', 'verify']) expect(await verdict(tool)).toBe('ALLOW');
    const cost = { provider: 'p', model: 'm', inputTokens: 1, outputTokens: 1, totalTokens: 2, costUsd: 1.5 };
    const event = { agentId: 'bot', sessionId: 'run-1', eventType: 'cost_tracked', payload: cost };
    expect(await agent.post('/api/events', { events: [event] })).toMatchObject({ status: 201 });
    expect(await verdict('model')).toBe('BLOCK');

    await platform.restart();
    await eventually(async () => expect(await platform.ruleCounts()).toEqual([4]));

    expect(await verdict('search')).toBe('BLOCK');
    expect(await verdict('pay')).toBe('ALLOW');
    expect(await verdict('export')).toBe('BLOCK');
    expect(await verdict('model')).toBe('BLOCK');
  });
});
