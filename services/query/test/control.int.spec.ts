import { BreakerLimits, COMMANDS, type ControlOrder, otherVersion, StoredBreakerLimits } from '@agentlens/contracts';
import { StateUnavailable } from '@agentlens/state';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { ControlQueries, OrderWatch } from '../src/control/control.controller.ts';
import { granted, NOW, type OperatorApi, startOperatorApi } from './operator-api.ts';
import { aBreakerLimitsRow, aBreakerRow, aBudgetRow, anAcknowledgementRow, anOrderRow, aRunRow } from './rows.ts';

let api: OperatorApi;
let orders = 0;
const asked: object[] = [];

beforeAll(async () => {
  api = await startOperatorApi();
  await api.bus.serve(COMMANDS.orderControl, async (question) => {
    asked.push(question);
    orders += 1;
    const order: ControlOrder = { ...question, id: `order-${orders}`, version: orders, issuedAt: NOW };
    return granted(order);
  });
});
afterAll(() => api.close());
beforeEach(() => {
  asked.length = 0;
});

const nextOrder = () => `order-${orders + 1}`;
const order = (body: object) => api.call('POST', '/api/control', { body });
const listens = (agentId: string, instanceId: string, tenantId = 'acme') =>
  api.platform.presence.touch(tenantId, agentId, instanceId, 60_000);
const takes = (agentId: string, instanceId: string, afterMs: number) =>
  api.insert(
    'control_acknowledgements',
    anAcknowledgementRow({
      directive_id: nextOrder(),
      agent_id: agentId,
      instance_id: instanceId,
      acknowledged_at: new Date(Date.parse(NOW) + afterMs).toISOString(),
    }),
  );

describe('POST /api/control', () => {
  it('returns how many of how many instances acknowledged, and how fast', async () => {
    for (const instance of ['a', 'b', 'c']) await listens('bot', instance);
    await listens('bot', 'a', 'globex');
    await listens('other', 'x');
    await takes('bot', 'a', 12);
    await takes('bot', 'b', 40);
    const answer = await order({ scope: 'agent', id: 'bot', state: 'killed', reason: 'enough', waitMs: 50 });
    expect(answer).toMatchObject({
      status: 200,
      body: {
        order: { scope: 'agent', scopeId: 'bot', state: 'killed', reason: 'enough', tenantId: 'acme' },
        connected: 3,
        acknowledged: 2,
        fastestMs: 12,
        slowestMs: 40,
      },
    });
    expect(asked).toEqual([
      expect.objectContaining({ tenantId: 'acme', by: `admin (${api.keys.admin.id})`, scopeId: 'bot' }),
    ]);
  });

  it('returns as soon as every instance acknowledged', async () => {
    await listens('quick', 'a');
    await takes('quick', 'a', 3);
    const answer = await order({ scope: 'agent', id: 'quick', state: 'paused', waitMs: 10_000 });
    expect(answer.body).toMatchObject({ connected: 1, acknowledged: 1, fastestMs: 3, slowestMs: 3 });
  });

  it('does not wait if no instance is connected', async () => {
    const answer = await order({ scope: 'agent', id: 'nobody', state: 'killed', waitMs: 10_000 });
    expect(answer.body).toMatchObject({ connected: 0, acknowledged: 0, fastestMs: null, slowestMs: null });
    expect(answer.body).toMatchObject({ unknownScope: true, hint: expect.stringContaining('GET /api/agents') });
  });

  it('counts the instances of the agent for an order to a run', async () => {
    await api.insert('runs', aRunRow({ run_id: 'r-1', agent_id: 'runner' }));
    await listens('runner', 'a');
    await takes('runner', 'a', 1);
    const answer = await order({ scope: 'run', id: 'r-1', state: 'killed', waitMs: 10_000 });
    expect(answer.body).toMatchObject({ connected: 1, acknowledged: 1 });
    expect(asked).toEqual([expect.objectContaining({ scopeId: 'r-1', agentId: 'runner' })]);
  });

  it('returns for a run as soon as its process acknowledged, even if other processes of the agent are connected', async () => {
    await api.insert('runs', aRunRow({ run_id: 'r-2', agent_id: 'crowd' }));
    for (const instance of ['a', 'b', 'c']) await listens('crowd', instance);
    await takes('crowd', 'b', 9);
    const answer = await order({ scope: 'run', id: 'r-2', state: 'killed', waitMs: 10_000 });
    expect(answer.body).toMatchObject({ connected: 3, acknowledged: 1, slowestMs: 9 });
  }, 8_000);

  it('needs no id for the tenant, and counts all its instances', async () => {
    const listening = await api.platform.presence.list('acme');
    const answer = await order({ scope: 'tenant', state: 'paused', waitMs: 0 });
    expect(answer.body).toMatchObject({ order: { scope: 'tenant', scopeId: 'acme' }, connected: listening.length });
  });

  it('accepts the order if the connected instances cannot be listed', async () => {
    const away = {
      list: async () => {
        throw new StateUnavailable('list', new Error('connection refused'));
      },
    };
    const { logger } = api.platform;
    const watch = new OrderWatch(api.app.get(ControlQueries, { strict: false }), away, logger);
    await takes('bot', 'a', 7);
    const body = { tenantId: 'acme', scope: 'agent', scopeId: 'bot', state: 'killed', reason: '', by: 'ann' } as const;
    const stands = { ...body, id: nextOrder(), version: 1, issuedAt: NOW };
    expect(await watch.follow(stands, 0)).toEqual({ connected: null, acknowledged: 1, fastestMs: 7, slowestMs: 7 });
  });

  it('accepts the version of the current order and returns its own', async () => {
    const body = { scope: 'run', scopeId: 'r-1', state: 'paused', waitMs: 0 };
    const answer = await api.call('POST', '/api/control', { body, headers: { 'if-match': '"0"' } });
    expect(answer).toMatchObject({ status: 200, headers: { etag: `"${answer.body.order.version}"` } });
    expect(asked).toMatchObject([{ scopeId: 'r-1', ifVersion: 0 }]);
  });

  it.each([
    [{ scope: 'run', state: 'killed' }, 400, 'scopeId'],
    [{ scope: 'fleet', id: 'x', state: 'killed' }, 400, 'scope'],
    [{ scope: 'run', id: 'x', state: 'dead' }, 400, 'state'],
    [{ scope: 'run', id: 'x', state: 'killed', reason: 'x'.repeat(1_001) }, 400, 'reason'],
    [{ scope: 'run', id: 'x', state: 'killed', waitMs: 60_000 }, 400, 'waitMs'],
    [{ scope: 'run', id: 'x\u0000', state: 'killed' }, 400, 'id'],
    [{ scope: 'tenant', id: 'globex', state: 'killed' }, 404, undefined],
    [{ scope: 'tenant', state: 'killed', tenantId: 'globex' }, 400, ''],
  ])('%j is rejected: %d', async (body, status, path) => {
    const answer = await order(body);
    expect(answer).toMatchObject(path === undefined ? { status } : { status, body: { details: [{ path }] } });
    expect(asked).toEqual([]);
  });
});

describe('GET /api/control', () => {
  it('shows current orders and the instances that acknowledged them', async () => {
    await api.insert('control_orders', anOrderRow({ order_id: 'stands', scope_id: 'r-9' }));
    await api.insert('control_orders', anOrderRow({ order_id: 'lifted', scope_id: 'r-8', state: 'running' }));
    await api.insert('control_acknowledgements', anAcknowledgementRow({ directive_id: 'stands' }));
    expect((await api.get('/api/control?state=paused,killed')).body.orders).toMatchObject([
      { id: 'stands', scopeId: 'r-9', by: 'ops (key-1)', acknowledged: 1, fastestMs: 12, slowestMs: 12 },
    ]);
    expect((await api.get('/api/control?scope=run&scopeId=r-8')).body.orders).toMatchObject([
      { id: 'lifted', acknowledged: 0, fastestMs: null },
    ]);
  });

  it.each(['scopeId=r-8', 'id=r-8', 'id=r-8&scopeId=r-8'])('finds orders by %s', async (query) => {
    const { body } = await api.get(`/api/control?${query}`);
    expect(body.orders.map(({ id }: { id: string }) => id)).toEqual(['lifted']);
  });

  it('rejects two conflicting ids', async () => {
    expect(await api.get('/api/control?id=r-8&scopeId=r-9')).toMatchObject({
      status: 400,
      body: { details: [{ path: 'scopeId', message: expect.stringContaining('one of them') }] },
    });
    expect((await api.get('/api/control?scope=agent&scopeId=r-8')).body.orders).toEqual([]);
  });
});

describe('breakers', () => {
  it('are listed with their state, in pages', async () => {
    for (const [n, scope] of (['run', 'agent', 'run'] as const).entries()) {
      const state = n === 2 ? { kind: 'closed' } : { kind: 'open', openedAt: NOW, reason: 'cost' };
      await api.insert('circuit_breakers', aBreakerRow({ scope, scope_id: `b-${n}`, state }));
    }
    const { body: first } = await api.get('/api/breakers?limit=2');
    const { body: rest } = await api.get(`/api/breakers?limit=2&cursor=${first.nextCursor}`);
    const ids = [...first.breakers, ...rest.breakers].map(({ scopeId }: { scopeId: string }) => scopeId);
    expect(new Set(ids)).toEqual(new Set(['b-0', 'b-1', 'b-2']));
    expect(ids).toHaveLength(3);
    expect((await api.get('/api/breakers?state=open&scope=agent')).body.breakers).toMatchObject([{ scopeId: 'b-1' }]);
  });

  it('have limits with defaults filled in', async () => {
    await api.insert('breaker_limits', aBreakerLimitsRow());
    await api.insert('breaker_limits', aBreakerLimitsRow({ scope_id: 'agent-2', deleted_at: NOW }));
    const { body } = await api.get('/api/breakers/limits');
    expect(body).toMatchObject({
      defaults: { maxTokens: 200_000, maxIterations: 50, maxCostUsd: 10 },
      limits: [{ scope: 'agent', scopeId: 'agent-1', version: 1, limits: { maxTokens: 5, maxIterations: 50 } }],
    });
  });

  it('have limits that can be changed only at the version that was read', async () => {
    const { problem } = otherVersion('limits', 2, 3);
    const asked: (number | undefined)[] = [];
    const owner = async ({ ifVersion }: { ifVersion?: number | undefined }) => {
      asked.push(ifVersion);
      return ifVersion === 2 ? ({ ok: false, problem } as const) : granted(StoredBreakerLimits.parse({ version: 4 }));
    };
    const serving = [
      await api.bus.serve(COMMANDS.setBreakerLimits, owner),
      await api.bus.serve(COMMANDS.patchBreakerLimits, owner),
      await api.bus.serve(COMMANDS.deleteBreakerLimits, async ({ ifVersion }) => {
        asked.push(ifVersion);
        return { ok: false, problem } as const;
      }),
    ];
    const body = { scope: 'agent', scopeId: 'agent-1', limits: { maxTokens: 7 } };
    const headers = { 'if-match': '"2"' };
    for (const [method, url] of [
      ['PUT', '/api/breakers/limits'],
      ['PATCH', '/api/breakers/limits'],
      ['DELETE', '/api/breakers/limits/agent/agent-1'],
    ] as const) {
      const sent = method === 'DELETE' ? { headers } : { headers, body };
      expect(await api.call(method, url, sent)).toMatchObject({
        status: 412,
        headers: { etag: '"3"' },
        body: { code: 'version_conflict', currentVersion: 3 },
      });
    }
    expect(await api.call('PATCH', '/api/breakers/limits', { body })).toMatchObject({
      status: 200,
      headers: { etag: '"4"' },
      body: { scope: 'agent', scopeId: 'agent-1', version: 4, limits: { maxIterations: 50 } },
    });
    expect(asked).toEqual([2, 2, 2, undefined]);
    for (const one of serving) await one.close();
  });

  it('forward limits and resets to their owner, for the tenant of the key', async () => {
    const questions: object[] = [];
    await api.bus.serve(COMMANDS.setBreakerLimits, async (question) => {
      questions.push(question);
      return granted(StoredBreakerLimits.parse(question.body));
    });
    await api.bus.serve(COMMANDS.resetBreaker, async (question) => {
      questions.push(question);
      return granted({ ok: true as const });
    });
    const body = { scope: 'tenant', limits: { maxTokens: 7 } };
    expect(await api.call('PUT', '/api/breakers/limits', { body })).toMatchObject({
      status: 200,
      body: { scope: 'tenant', scopeId: 'acme', limits: { maxTokens: 7, maxIterations: 50 } },
    });
    expect(await api.call('POST', '/api/breakers/agent/crew%2Flead/reset')).toMatchObject({ status: 200 });
    const author = { keyId: api.keys.admin.id, keyName: 'admin' };
    expect(questions).toEqual([
      { tenantId: 'acme', scope: 'tenant', scopeId: 'acme', body: BreakerLimits.parse({ maxTokens: 7 }), author },
      { tenantId: 'acme', scope: 'agent', scopeId: 'crew/lead', by: `admin (${api.keys.admin.id})`, author },
    ]);
  });

  it.each([
    ['PUT', '/api/breakers/limits', { scope: 'agent' }, 400],
    ['PUT', '/api/breakers/limits', { scope: 'tenant', id: 'globex' }, 404],
    ['PUT', '/api/breakers/limits', null, 400],
    ['POST', '/api/breakers/tenant/x/reset', undefined, 400],
  ] as const)('%s %s with %j is rejected: %d', async (method, url, body, status) =>
    expect((await api.call(method, url, { body })).status).toBe(status),
  );
});

describe('budgets', () => {
  it('are listed until they are deleted', async () => {
    await api.insert('budgets', aBudgetRow());
    await api.insert('budgets', aBudgetRow({ budget_id: 'gone', deleted_at: NOW }));
    await api.insert('budgets', aBudgetRow({ budget_id: 'all', scope: 'tenant', scope_id: null, enabled: false }));
    expect((await api.get('/api/budgets')).body.budgets.map(({ id }: { id: string }) => id)).toEqual([
      'budget-1',
      'all',
    ]);
    expect((await api.get('/api/budgets?enabled=true&scope=agent&scopeId=agent-1')).body.budgets).toMatchObject([
      { id: 'budget-1', limitUsd: 12.5, onUnavailable: 'block', scopeId: 'agent-1' },
    ]);
  });

  it('are created by their owner', async () => {
    const problem = {
      error: 'Validation failed',
      status: 400,
      details: [{ path: 'limitUsd', message: 'must be more' }],
    };
    const bodies: unknown[] = [];
    await api.bus.serve(COMMANDS.createBudget, async ({ body }) => {
      bodies.push(body);
      return { ok: false as const, problem };
    });
    for (const body of [{ limitUsd: 0 }, undefined]) {
      expect(await api.call('POST', '/api/budgets', { body })).toMatchObject({ status: 400, body: problem });
    }
    expect(bodies).toEqual([{ limitUsd: 0 }, null]);
  });

  it('show the spent, reserved and remaining amounts from their owner', async () => {
    const { budgets } = (await api.get('/api/budgets?enabled=true')).body;
    const pot = {
      scopeId: 'agent-1',
      periodStart: '2026-03-01',
      spentUsd: 1,
      reservedUsd: 0.5,
      remainingUsd: 11,
      unpricedCalls: 2,
      estimatedUsd: 0.25,
    };
    const questions: unknown[] = [];
    await api.bus.serve(COMMANDS.budgetStanding, async (question) => {
      questions.push(question);
      return granted({ budget: budgets[0], pots: [pot] });
    });
    expect(await api.get('/api/budgets/budget-1?scopeId=agent-1')).toMatchObject({
      status: 200,
      body: { budget: budgets[0], pots: [pot] },
    });
    expect(questions).toEqual([{ tenantId: 'acme', budgetId: 'budget-1', scopeId: 'agent-1' }]);
  });

  it('have a version that a deletion may name', async () => {
    const { headers, body } = await api.get('/api/budgets/budget-1');
    expect(headers.etag).toBe(`"${body.budget.version}"`);
    const asked: (number | undefined)[] = [];
    const serving = await api.bus.serve(COMMANDS.deleteBudget, async ({ ifVersion }) => {
      asked.push(ifVersion);
      return otherVersion('budget', ifVersion, 3);
    });
    const sent = { headers: { 'if-match': '"2"' } };
    expect(await api.call('DELETE', '/api/budgets/budget-1', sent)).toMatchObject({
      status: 412,
      headers: { etag: '"3"' },
      body: { currentVersion: 3 },
    });
    expect(asked).toEqual([2]);
    await serving.close();
  });

  it('cannot be changed if the owner does not answer', async () => {
    expect(await api.call('DELETE', '/api/budgets/budget-1')).toMatchObject({
      status: 503,
      headers: { 'retry-after': '2' },
    });
  });
});

describe('settings of a tenant', () => {
  it('are read and changed only for the tenant of the key', async () => {
    expect(await api.get('/api/settings')).toMatchObject({ status: 200, body: { decisionFailMode: 'allow' } });
    const body = { decisionFailMode: 'block' };
    expect(await api.call('PUT', '/api/settings', { body })).toMatchObject({ status: 200, body });
    expect((await api.get('/api/settings')).body).toMatchObject(body);
    const foreign = await api.get('/api/settings', api.keys.foreign.key);
    expect(foreign.body).toMatchObject({ decisionFailMode: 'allow' });
  });

  it('reach the gateways with the keys of the tenant', async () => {
    const failMode = async (key: string) => {
      const check = await api.platform.keys.check(key);
      return check.kind === 'accepted' ? check.caller.decisionFailMode : check.kind;
    };
    await api.call('PUT', '/api/settings', { body: { decisionFailMode: 'block' } });
    api.clock.advance(5_000);
    expect(await failMode(api.keys.ingest.key)).toBe('block');
    expect(await failMode(api.keys.foreign.key)).toBe('allow');
  });

  it.each([{}, { decisionFailMode: 'maybe' }, { decisionFailMode: 'block', other: 1 }])('reject %j', async (body) =>
    expect((await api.call('PUT', '/api/settings', { body })).status).toBe(400),
  );
});
