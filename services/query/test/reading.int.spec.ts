import { COMMANDS, derivedId } from '@agentlens/contracts';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { granted, NOW, type OperatorApi, startOperatorApi } from './operator-api.ts';
import { aDailyRow, aDirectiveRow, anAgentRow, anEventRow, aRunRow } from './rows.ts';

let api: OperatorApi;

const minute = (n: number) => new Date(Date.parse(NOW) + n * 60_000).toISOString();
const idsOf = (items: readonly { id: string }[]) => items.map((item) => item.id);

beforeAll(async () => {
  api = await startOperatorApi();
  await api.insert(
    'events',
    anEventRow({ event_id: 'e1', occurred_at: minute(-3), payload: { text: 'Find THE 100% needle_' } }),
  );
  await api.insert(
    'events',
    anEventRow({
      event_id: 'e2',
      occurred_at: minute(-2),
      source_type: 'llm_response',
      kind: 'llm.completed',
      cost_usd: 0.6,
      latency_ms: 100,
    }),
  );
  await api.insert(
    'events',
    anEventRow({
      event_id: 'e3',
      occurred_at: minute(-2),
      source_type: 'cost_tracked',
      kind: 'cost.recorded',
      cost_usd: 0.02,
    }),
  );
  await api.insert(
    'events',
    anEventRow({
      event_id: 'e4',
      occurred_at: minute(-1),
      run_id: 'run-2',
      agent_id: 'crew/role',
      severity: 'error',
      is_error: true,
      latency_ms: 50,
    }),
  );
  await api.insert('events', anEventRow({ event_id: 'e4', tenant_id: 'globex', payload: { whose: 'globex' } }));
  await api.insert(
    'runs',
    aRunRow({ run_id: 'run-1', started_at: minute(-3), last_event_at: minute(-2), tags: ['a', 'b'] }),
  );
  await api.insert(
    'runs',
    aRunRow({ run_id: 'run-2', agent_id: 'crew/role', status: 'timed_out', started_at: minute(-4), ended_at: NOW }),
  );
  await api.insert(
    'runs',
    aRunRow({ run_id: 'run-3', last_event_at: minute(-6), started_at: minute(-7), tags: ['c'] }),
  );
  await api.insert('runs', aRunRow({ run_id: 'run-4', status: 'succeeded', started_at: minute(-8) }));
  await api.insert('agents', anAgentRow({ agent_id: 'agent-1', event_count: 3, run_count: 3 }));
  await api.insert(
    'agents',
    anAgentRow({ agent_id: 'crew/role', name: null, last_seen_at: minute(-1), event_count: 1 }),
  );
  await api.insert('agent_directives', aDirectiveRow({ agent_id: 'crew/role' }));
  await api.insert('agents', anAgentRow({ tenant_id: 'globex', agent_id: 'agent-1' }));
  await api.insert('agent_directives', aDirectiveRow({ tenant_id: 'globex', agent_id: 'agent-1' }));
  await api.insert('agent_daily', aDailyRow());
  await api.insert(
    'agent_daily',
    aDailyRow({ agent_id: 'crew/role', event_count: 10, error_count: 1, cost_usd: 0.25 }),
  );
  await api.insert('agent_daily', aDailyRow({ day: '2026-02-28', event_count: 7 }));
});
afterAll(() => api.close());

describe('events', () => {
  const events = async (query: string) => (await api.get(`/api/events?${query}`)).body;

  it('are listed newest first, with the number of all matches', async () => {
    const body = await events('limit=2');
    expect(idsOf(body.events)).toEqual(['e4', 'e3']);
    expect(body).toMatchObject({ total: 4, hasMore: true });
  });

  it.each([
    ['sessionId=run-2', ['e4']],
    ['agentId=crew%2Frole', ['e4']],
    ['eventType=llm_response,cost_tracked', ['e3', 'e2']],
    ['eventType=tool.called', ['e4', 'e1']],
    ['severity=error,critical', ['e4']],
    [`from=${minute(-2)}&to=${minute(-2)}`, ['e3', 'e2']],
    ['search=the%20100%25%20needle_', ['e1']],
    ['search=needleX', []],
    ['excludeMetrics=true', ['e4', 'e2', 'e1']],
    ['order=asc', ['e1', 'e2', 'e3', 'e4']],
  ])('are filtered by %s', async (query, ids) => {
    expect(idsOf((await events(query)).events)).toEqual(ids);
  });

  it.each(['asc', 'desc'])('are paged in order %s without gap or repetition', async (order) => {
    const seen: string[] = [];
    let cursor = '';
    for (let page = 0; page < 4; page++) {
      const body = await events(`order=${order}&limit=1${cursor}`);
      seen.push(...idsOf(body.events));
      cursor = `&cursor=${body.nextCursor}`;
    }
    expect(seen).toEqual(order === 'asc' ? ['e1', 'e2', 'e3', 'e4'] : ['e4', 'e3', 'e2', 'e1']);
  });

  it('can be read one by one', async () => {
    const { body } = await api.get('/api/events/e4');
    expect(body).toMatchObject({ id: 'e4', tenantId: 'acme', timestamp: minute(-1), prevHash: null, isError: true });
    expect((await api.get('/api/events/e4', api.keys.foreign.key)).body.payload).toEqual({ whose: 'globex' });
  });
});

describe('an event whose id contains a time', () => {
  it.each([
    ['near that time', 0],
    ['far from that time', 5 * 24 * 60],
  ])('is found %s', async (_where, minutesAway) => {
    const id = derivedId(Date.parse(NOW), minutesAway);
    await api.insert('events', anEventRow({ tenant_id: 'globex', event_id: id, occurred_at: minute(-minutesAway) }));
    expect((await api.get(`/api/events/${id}`, api.keys.foreign.key)).body).toMatchObject({ id, tenantId: 'globex' });
    expect((await api.get(`/api/events/${id}`)).status).toBe(404);
  });

  it('is waited for if it was accepted a moment ago', async () => {
    const id = derivedId(Date.parse(NOW), 'accepted');
    const reading = api.get(`/api/events/${id}`, api.keys.foreign.key);
    await api.insert('events', anEventRow({ tenant_id: 'globex', event_id: id, occurred_at: minute(0) }));
    expect((await reading).body).toMatchObject({ id });
  });

  it('is not found, without an error, if that time is absurd', async () => {
    expect((await api.get('/api/events/ffffffff-ffff-7fff-bfff-ffffffffffff')).status).toBe(404);
  });
});

describe('sessions', () => {
  const sessions = async (query: string) => (await api.get(`/api/sessions?${query}`)).body;

  it.each([
    ['', ['run-1', 'run-2', 'run-3', 'run-4']],
    ['status=active', ['run-1']],
    ['status=idle', ['run-3']],
    ['status=error', ['run-2']],
    ['status=completed,idle', ['run-3', 'run-4']],
    ['tags=b,c', ['run-1', 'run-3']],
    ['agentId=crew%2Frole', ['run-2']],
    [`from=${minute(-7)}&to=${minute(-4)}`, ['run-2', 'run-3']],
    ['limit=1&offset=1', ['run-2']],
  ])('are filtered by "%s"', async (query, ids) => {
    expect(idsOf((await sessions(query)).sessions)).toEqual(ids);
  });

  it('show both the AgentLens state and the exact status', async () => {
    expect((await api.get('/api/sessions/run-2')).body).toMatchObject({ status: 'error', runStatus: 'timed_out' });
  });

  it('can be counted without being listed', async () => {
    expect(await sessions('countOnly=true&status=active')).toEqual({ count: 1 });
  });

  it('have a timeline, oldest first, that does not claim a hash chain', async () => {
    const { body } = await api.get('/api/sessions/run-1/timeline');
    expect(idsOf(body.events)).toEqual(['e1', 'e2', 'e3']);
    expect(body).toMatchObject({ chained: false, chainValid: true, hasMore: false });
    const first = (await api.get('/api/sessions/run-1/timeline?limit=2')).body;
    const rest = (await api.get(`/api/sessions/run-1/timeline?cursor=${first.nextCursor}`)).body;
    expect(idsOf([...first.events, ...rest.events])).toEqual(['e1', 'e2', 'e3']);
  });

  it('have an empty timeline without events, and 404 if they are unknown', async () => {
    expect((await api.get('/api/sessions/run-4/timeline')).body.events).toEqual([]);
    expect((await api.get('/api/sessions/none/timeline')).status).toBe(404);
  });
});

describe('agents', () => {
  it('show their current instructions, of their own tenant only', async () => {
    const { body } = await api.get('/api/agents');
    expect(idsOf(body.agents)).toEqual(['agent-1', 'crew/role']);
    expect(body.agents[0]).not.toHaveProperty('pausedAt');
    expect(body.agents[1]).toMatchObject({
      name: 'crew/role',
      pausedAt: NOW,
      pauseReason: 'Error rate 50.0% exceeds threshold 30%',
      modelOverride: 'small-model',
    });
  });

  it('count the calls without a known cost of their 20 newest runs', async () => {
    await api.insert('tenants', { id: 'unpriced', name: 'unpriced', created_at: NOW });
    const { key } = await api.newKey(['read'], 'unpriced');
    for (const agent_id of ['a', 'b']) await api.insert('agents', anAgentRow({ tenant_id: 'unpriced', agent_id }));
    for (let run = 0; run < 22; run++) {
      const row = { tenant_id: 'unpriced', agent_id: 'a', run_id: `a-${run}`, started_at: minute(-run) };
      await api.insert('runs', aRunRow({ ...row, unpriced_count: 1 }));
    }
    await api.insert('runs', aRunRow({ tenant_id: 'globex', agent_id: 'b', run_id: 'b-0', unpriced_count: 5 }));
    const { body } = await api.get('/api/agents', key);
    const counts = body.agents.map(({ id, unpricedCalls }: { id: string; unpricedCalls: number }) => [
      id,
      unpricedCalls,
    ]);
    expect(Object.fromEntries(counts)).toEqual({ a: 20, b: 0 });
    expect((await api.get('/api/agents/a', key)).body).toMatchObject({ unpricedCalls: 20 });
  });

  it('may have a slash in their id', async () => {
    expect((await api.get('/api/agents/crew%2Frole')).body).toMatchObject({ id: 'crew/role', sessionCount: 1 });
  });

  it('can be filtered by paused state', async () => {
    expect(idsOf((await api.get('/api/agents?paused=true')).body.agents)).toEqual(['crew/role']);
  });

  it('are resumed by the owner of directives', async () => {
    const asked: unknown[] = [];
    const owner = await api.bus.serve(COMMANDS.unpauseAgent, async (question) => {
      asked.push(question);
      return granted({ rearmed: [] });
    });
    const answer = await api.call('PUT', '/api/agents/crew%2Frole/unpause', { body: { clearModelOverride: true } });
    const bodyless = await api.call('PUT', '/api/agents/crew%2Frole/unpause');
    await owner.close();
    expect(answer).toMatchObject({ status: 200, body: { id: 'crew/role' } });
    expect(bodyless.status).toBe(200);
    const author = { keyId: api.keys.admin.id, keyName: 'admin' };
    const question = { tenantId: 'acme', agentId: 'crew/role', author };
    expect(asked).toEqual([
      { ...question, clearModelOverride: true },
      { ...question, clearModelOverride: false },
    ]);
  });

  it('reject an unknown member instead of ignoring it', async () => {
    const answer = await api.call('PUT', '/api/agents/crew%2Frole/unpause', { body: { clearModel: true } });
    expect(answer).toMatchObject({ status: 400, body: { error: 'Validation failed' } });
  });
});

describe('totals', () => {
  it('report the same cost in analytics and in sessions', async () => {
    const { body } = await api.get('/api/analytics?granularity=hour');
    expect(body.totals).toEqual({
      eventCount: 4,
      toolCallCount: 2,
      errorCount: 1,
      avgLatencyMs: 75,
      totalCostUsd: 0.62,
      uniqueSessions: 2,
      uniqueAgents: 2,
    });
    expect(body.buckets).toMatchObject([{ timestamp: '2026-03-01T11:00:00.000Z', eventCount: 4, totalCostUsd: 0.62 }]);
  });

  it('can be limited to one agent', async () => {
    const { body } = await api.get('/api/analytics?granularity=week&agentId=crew%2Frole');
    expect(body.buckets).toMatchObject([{ timestamp: '2026-02-23T00:00:00.000Z', eventCount: 1, errorCount: 1 }]);
  });

  it('are empty without data', async () => {
    const { body } = await api.get('/api/analytics?from=2020-01-01&to=2020-02-01');
    expect(body.buckets).toEqual([]);
    expect(body.totals).toMatchObject({ eventCount: 0, avgLatencyMs: 0, totalCostUsd: 0 });
  });

  it('reject a range with too many buckets and say what to change', async () => {
    const answer = await api.get('/api/analytics?granularity=hour&from=2025-01-01');
    expect(answer).toMatchObject({
      status: 400,
      body: { details: [{ path: 'from', message: expect.stringContaining('coarser') }] },
    });
  });

  it('show how much is stored', async () => {
    const { body } = await api.get('/api/stats');
    expect(body).toMatchObject({ totalEvents: 4, totalAgents: 2, oldestEvent: minute(-3), newestEvent: minute(-1) });
    expect(body.storageSizeBytes).toBeGreaterThan(0);
  });

  it('set today beside yesterday', async () => {
    const { body } = await api.get('/api/overview');
    expect(body).toMatchObject({
      today: { events: 50, errors: 5, costUsd: 1.75 },
      yesterday: { events: 7 },
      errorRate: 0.1,
      totalAgents: 2,
      activeAgents: 2,
      pausedAgents: 1,
    });
  });
});

describe('the service', () => {
  it('reports its health without a key', async () => {
    const { statusCode, body } = await api.app.inject({ method: 'GET', url: '/api/health' });
    expect(statusCode).toBe(200);
    expect(JSON.parse(body)).toEqual({
      status: 'ok',
      version: expect.any(String),
      db: { ok: true, latencyMs: expect.any(Number) },
    });
  });
});
