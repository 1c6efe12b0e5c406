import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { NOW, type OperatorApi, startOperatorApi } from './operator-api.ts';
import { anEventRow, aRunRow } from './rows.ts';

let api: OperatorApi;

const hour = (n: number) => new Date(Date.parse(NOW) + n * 3_600_000).toISOString();

beforeAll(async () => {
  api = await startOperatorApi();
  const runs = [
    { status: 'succeeded', step_count: 2, ended_at: hour(-4.5), total_tokens: 30, cost_usd: 0.5 },
    { status: 'succeeded', step_count: 4, ended_at: hour(-4.5), total_tokens: 10, cost_usd: 0.25 },
    { status: 'failed', step_count: 6, ended_at: hour(-3), cost_usd: 0.25 },
    { status: 'lost', step_count: 0, cost_usd: 0 },
    { status: 'running', step_count: 9, agent_id: 'agent-2', started_at: hour(-1), cost_usd: 1 },
    { status: 'succeeded', step_count: 9, started_at: hour(-24 * 40), cost_usd: 1 },
  ];
  for (const [i, run] of runs.entries()) {
    await api.insert('runs', aRunRow({ run_id: `run-${i}`, started_at: hour(-5), ...run }));
  }
  const calls = [
    { tool_name: 'search', latency_ms: 10 },
    { tool_name: 'search', latency_ms: 20, is_error: true },
    { tool_name: 'search', latency_ms: 30 },
    { tool_name: 'pay', agent_id: 'agent-2', occurred_at: hour(-1) },
    { tool_name: 'pay', kind: 'tool.called', occurred_at: hour(-1) },
    { kind: 'llm.completed', model: 'm', provider: 'p', latency_ms: 100, input_tokens: 10, cost_usd: 0.2 },
    { kind: 'llm.completed', model: 'm', provider: 'p', latency_ms: 300, output_tokens: 5, is_error: true },
    { kind: 'cost.recorded', model: 'm', provider: 'p', cost_usd: 0.1 },
  ];
  for (const [i, call] of calls.entries()) {
    const defaults = { event_id: `e${i}`, kind: 'tool.completed', occurred_at: hour(-5) };
    await api.insert('events', anEventRow({ ...defaults, ...call }));
    await api.insert('events', anEventRow({ ...defaults, ...call, tenant_id: 'globex', agent_id: 'globex' }));
  }
  await api.insert('runs', aRunRow({ tenant_id: 'globex', run_id: 'theirs', cost_usd: 99 }));
});
afterAll(() => api.close());

describe('metrics', () => {
  it('show how well tasks went', async () => {
    const { body } = await api.get('/api/metrics?range=1d&granularity=hour');
    expect(body.tasks).toEqual({
      started: 5,
      finished: 4,
      succeeded: 2,
      successRate: 0.5,
      stepsPerTask: 3,
      durationMs: { p50: 1_800_000, p95: expect.any(Number), p99: expect.any(Number) },
      inputTokens: 0,
      outputTokens: 0,
      totalTokens: 40,
      cacheReadTokens: 0,
      cacheWriteTokens: 0,
      costUsd: 2,
    });
  });

  it('show how tools and models behaved', async () => {
    const { body } = await api.get('/api/metrics?range=1d');
    expect(body.toolCalls).toMatchObject({ calls: 4, errors: 1, errorRate: 0.25, latencyMs: { p50: 20 } });
    expect(body.tools).toEqual([
      {
        tool: 'search',
        calls: { calls: 3, errors: 1, errorRate: 1 / 3, latencyMs: { p50: 20, p95: 29, p99: expect.closeTo(29.8) } },
      },
      { tool: 'pay', calls: { calls: 1, errors: 0, errorRate: 0, latencyMs: null } },
    ]);
    expect(body.models).toEqual([
      {
        model: 'm',
        provider: 'p',
        calls: { calls: 2, errors: 1, errorRate: 0.5, latencyMs: { p50: 200, p95: 290, p99: 298 } },
        inputTokens: 10,
        outputTokens: 5,
        costUsd: expect.closeTo(0.3),
      },
    ]);
  });

  it('are grouped by agent and by bucket, even if only one kind of figure exists', async () => {
    const { body } = await api.get('/api/metrics?range=1d&granularity=hour');
    expect(body.agents).toMatchObject([
      { agentId: 'agent-1', tasks: { started: 4 }, toolCalls: { calls: 3 } },
      { agentId: 'agent-2', tasks: { started: 1, successRate: null }, toolCalls: { calls: 1 } },
    ]);
    expect(body.buckets.map((bucket: { timestamp: string }) => bucket.timestamp)).toEqual([hour(-5), hour(-1)]);
    expect(body.buckets[0]).toMatchObject({ tasks: { started: 4, successRate: 0.5 }, toolCalls: { calls: 3 } });
  });

  it('can be limited to one agent', async () => {
    const { body } = await api.get('/api/metrics?range=1d&agentId=agent-2');
    expect(body).toMatchObject({
      tasks: { started: 1 },
      toolCalls: { calls: 1 },
      models: [],
      tools: [{ tool: 'pay' }],
    });
  });

  it('are empty with null rates if there is no data', async () => {
    const { body } = await api.get('/api/metrics?range=1d&agentId=nobody');
    expect(body).toMatchObject({
      tasks: { started: 0, successRate: null, stepsPerTask: null, durationMs: null, costUsd: 0 },
      toolCalls: { calls: 0, errorRate: null, latencyMs: null },
      buckets: [],
      agents: [],
      models: [],
      tools: [],
    });
  });

  it('cover the requested range, within limits', async () => {
    expect((await api.get('/api/metrics?range=60d')).body.tasks.started).toBe(6);
    expect((await api.get('/api/metrics?range=400d')).status).toBe(400);
  });
});
