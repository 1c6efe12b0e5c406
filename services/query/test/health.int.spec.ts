import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { NOW, type OperatorApi, startOperatorApi } from './operator-api.ts';
import { aDailyRow, anAgentRow } from './rows.ts';

let api: OperatorApi;

const perfect = { run_error_count: 0, run_succeeded_count: 10, tool_error_count: 0 };

beforeAll(async () => {
  api = await startOperatorApi();
  for (const agent_id of ['well', 'ill', 'silent']) await api.insert('agents', anAgentRow({ agent_id }));
  await api.insert('agent_daily', aDailyRow({ agent_id: 'well', ...perfect }));
  await api.insert('agent_daily', aDailyRow({ agent_id: 'ill', day: '2026-02-20', ...perfect }));
  await api.insert('agent_daily', aDailyRow({ agent_id: 'ill', run_error_count: 10, run_succeeded_count: 0 }));
  await api.insert('agent_daily', aDailyRow({ agent_id: 'silent', day: '2026-02-01' }));
  await api.insert('agent_daily', aDailyRow({ tenant_id: 'globex', agent_id: 'well', run_error_count: 10 }));
});
afterAll(() => api.close());

describe('the health of an agent', () => {
  it("is scored from its own tenant's data and shows its parts", async () => {
    const { body } = await api.get('/api/agents/well/health');
    expect(body).toMatchObject({
      agentId: 'well',
      overallScore: 100,
      trend: 'stable',
      trendDelta: 0,
      window: { from: '2026-02-23T00:00:00.000Z', to: NOW },
      sessionCount: 10,
      computedAt: NOW,
    });
    expect(body.dimensions).toHaveLength(5);
  });

  it('has a trend compared with the previous window', async () => {
    const { body } = await api.get('/api/agents/ill/health');
    expect(body).toMatchObject({ trend: 'degrading' });
    expect(body.trendDelta).toBeLessThan(-40);
  });

  it('takes its window from the parameter', async () => {
    expect((await api.get('/api/agents/silent/health?window=90')).body).toMatchObject({ sessionCount: 10 });
  });

  it('is 404 if there were no sessions', async () => {
    expect(await api.get('/api/agents/silent/health')).toMatchObject({ status: 404, body: { status: 404 } });
    expect(await api.get('/api/agents/none/health')).toMatchObject({ status: 404, body: { error: 'Agent not found' } });
  });

  it('is shown for all agents with sessions, the worst first', async () => {
    const { body } = await api.get('/api/health/overview');
    expect(body.agents.map((agent: { agentId: string }) => agent.agentId)).toEqual(['ill', 'well']);
    expect(body.computedAt).toBe(NOW);
  });
});
