import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { NOW, type OperatorApi, startOperatorApi } from './operator-api.ts';
import { aDirectiveRow, anAgentRow, anOrderRow, aRunRow, aTriggerRow } from './rows.ts';

let api: OperatorApi;
const order = (scope: string, scopeId: string, state: string, more: object = {}) =>
  api.insert('control_orders', anOrderRow({ scope, scope_id: scopeId, state, reason: 'enough', ...more }));
const breaker = (scope: string, scopeId: string, agentId: string) =>
  api.insert('circuit_breakers', {
    ...{ tenant_id: 'acme', scope, scope_id: scopeId, agent_id: agentId, version: 1, changed_at: NOW },
    state: JSON.stringify({ kind: 'open', openedAt: NOW, reason: 'tokens' }),
  });

beforeAll(async () => {
  api = await startOperatorApi();
  for (const agent of ['free', 'ordered', 'ruled', 'both', 'dead']) {
    await api.insert('agents', anAgentRow({ agent_id: agent }));
    await api.insert('runs', aRunRow({ run_id: `run-${agent}`, agent_id: agent, status: 'running', ended_at: null }));
  }
  await order('agent', 'ordered', 'paused');
  for (const agent of ['ruled', 'both', 'dead']) {
    await api.insert('agent_directives', aDirectiveRow({ agent_id: agent, pause_trigger_id: 'trigger-1' }));
  }
  await api.insert('guardrail_triggers', aTriggerRow());
  await order('agent', 'dead', 'killed');
  await order('run', 'run-both', 'killed', { reason: '' });
  await api.insert(
    'runs',
    aRunRow({ run_id: 'child', agent_id: 'free', parent_run_id: 'run-both', status: 'running' }),
  );
  await api.insert('runs', aRunRow({ run_id: 'tripped', agent_id: 'free', status: 'running' }));
  await breaker('run', 'tripped', 'free');
  // Belongs to another tenant, so it must not affect agents of this one.
  await order('agent', 'free', 'killed', { tenant_id: 'globex', order_id: 'theirs' });
});
afterAll(() => api.close());

const controlOf = async (path: string) => (await api.get(path)).body.control;
const byOrder = { source: 'order', by: expect.any(String), since: expect.any(String) };

describe('the control state', () => {
  it.each([
    ['agents/free', { state: 'running' }],
    ['agents/ordered', { state: 'paused', ...byOrder, scope: 'agent', scopeId: 'ordered', reason: 'enough' }],
    ['agents/dead', { state: 'killed', ...byOrder, scope: 'agent', scopeId: 'dead' }],
    [
      'agents/ruled',
      { state: 'paused', source: 'rule', by: 'Too many errors', scope: 'agent', scopeId: 'ruled', since: NOW },
    ],
    ['runs/run-ordered', { state: 'paused', ...byOrder, scope: 'agent', scopeId: 'ordered' }],
    ['runs/run-both', { state: 'killed', ...byOrder, scope: 'run', scopeId: 'run-both' }],
    ['runs/child', { state: 'killed', scope: 'run', scopeId: 'run-both' }],
    ['runs/tripped', { state: 'breaker_open', source: 'breaker', scope: 'run', scopeId: 'tripped', reason: 'tokens' }],
  ])('%s', async (path, expected) => {
    const control = await controlOf(`/api/${path}`);
    if (expected.state === 'running') expect(control).toEqual(expected);
    else expect(control).toMatchObject(expected);
  });

  it('is the same in lists', async () => {
    const states = async (path: string, list: string) =>
      Object.fromEntries(
        (await api.get(path)).body[list].map((one: { id: string; control: { state: string } }) => [
          one.id,
          one.control.state,
        ]),
      );
    expect(await states('/api/agents', 'agents')).toEqual({
      ...{ free: 'running', ordered: 'paused', ruled: 'paused', both: 'paused', dead: 'killed' },
    });
    expect(await states('/api/runs', 'runs')).toEqual({
      ...{
        'run-free': 'running',
        'run-ordered': 'paused',
        'run-ruled': 'paused',
        'run-both': 'killed',
        'run-dead': 'killed',
      },
      ...{ child: 'killed', tripped: 'breaker_open' },
    });
  });

  it('filters and counts agents', async () => {
    const ids = async (paused: boolean) =>
      (await api.get(`/api/agents?paused=${paused}`)).body.agents.map(({ id }: { id: string }) => id).sort();
    expect(await ids(true)).toEqual(['both', 'ordered', 'ruled']);
    expect(await ids(false)).toEqual(['dead', 'free']);
    expect((await api.get('/api/overview')).body.pausedAgents).toBe(3);
  });
});
