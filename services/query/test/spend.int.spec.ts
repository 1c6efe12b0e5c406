import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type OperatorApi, startOperatorApi } from './operator-api.ts';
import { aDailyRow, anEventRow, aRunRow } from './rows.ts';

let api: OperatorApi;

const call = (id: string, fields: object) =>
  api.insert('events', anEventRow({ event_id: id, kind: 'llm.completed', is_error: false, ...fields }));

beforeAll(async () => {
  api = await startOperatorApi();
  const priced = { model: 'm1', provider: 'p', input_tokens: 10, output_tokens: 5, total_tokens: 15, latency_ms: 100 };
  await call('e1', { ...priced, cost_usd: 0.5, cost_source: 'priced', agent_id: 'a' });
  await call('e2', { ...priced, cost_usd: 0.25, cost_source: 'reported', agent_id: 'b', session_id: 's' });
  await call('e3', { model: 'odd', provider: 'p', input_tokens: 7, cost_source: 'unpriced', agent_id: 'b' });
  await call('e4', { ...priced, cost_usd: 9, agent_id: 'a', tenant_id: 'globex' });
  await call('e5', { ...priced, cost_usd: 0.125, agent_id: 'a', run_id: 'of-ann', session_id: 's' });
  await api.insert('runs', aRunRow({ run_id: 'of-ann', actor_id: 'ann' }));
  await api.insert('agent_daily', aDailyRow({ agent_id: 'a', day: '2026-03-01' }));
});
afterAll(() => api.close());

describe('spend', () => {
  it('is grouped by agent, model, session and day, and reports calls without a price', async () => {
    const { body } = await api.get('/api/spend');
    expect(body).toMatchObject({
      by: 'agent',
      groups: [
        { key: 'a', costUsd: 0.625, calls: 2, unpriced: 0 },
        { key: 'b', costUsd: 0.25, calls: 2, unpriced: 1 },
      ],
      unpriced: [{ model: 'odd', provider: 'p', calls: 1, inputTokens: 7 }],
    });
    const keysBy = async (by: string) =>
      (await api.get(`/api/spend?by=${by}`)).body.groups.map(({ key }: { key: string }) => key);
    expect(await keysBy('model')).toEqual(['m1', 'odd']);
    expect(await keysBy('session')).toContain('s');
    expect(await keysBy('day')).toHaveLength(1);
    expect((await api.get('/api/spend?by=actor')).body.groups).toMatchObject([
      { key: '', costUsd: 0.75, calls: 3, unpriced: 1 },
      { key: 'ann', costUsd: 0.125, calls: 1 },
    ]);
    expect((await api.get('/api/spend?by=week')).status).toBe(400);
  });

  it('is what AgentLens clients read from /api/analytics/costs and /llm', async () => {
    expect((await api.get('/api/analytics/costs')).body).toMatchObject({
      byAgent: [
        { agentId: 'a', totalCostUsd: 0.625, totalTokens: 30, eventCount: 2 },
        { agentId: 'b', totalCostUsd: 0.25 },
      ],
      overTime: [{ totalCostUsd: 0.875, eventCount: 4, byAgent: { a: 0.625, b: 0.25 } }],
      totals: { totalCostUsd: 0.875, totalInputTokens: 37 },
    });
    expect((await api.get('/api/analytics/llm?provider=p')).body).toMatchObject({
      summary: { totalCalls: 4, totalCostUsd: 0.875, avgCostPerCall: 0.21875 },
      byModel: [
        { model: 'm1', calls: 3, costUsd: 0.875, avgLatencyMs: 100 },
        { model: 'odd', calls: 1 },
      ],
      byTime: [{ calls: 4 }],
    });
    expect((await api.get('/api/analytics/llm?model=odd')).body.summary.totalCalls).toBe(1);
  });
});

describe('routes for AgentLens clients', () => {
  it('return today and yesterday under /api/stats/overview', async () => {
    expect((await api.get('/api/stats/overview')).body).toMatchObject({
      eventsTodayCount: expect.any(Number),
      sessionsYesterdayCount: 0,
      errorRate: expect.any(Number),
    });
  });

  it("return an agent's health by day under /api/health/history", async () => {
    const { body } = await api.get('/api/health/history?agentId=a&days=3');
    expect(body).toMatchObject({ agentId: 'a', days: 3, snapshots: [{ date: '2026-03-01', agentId: 'a' }] });
    expect((await api.get('/api/health/history')).status).toBe(400);
  });
});
