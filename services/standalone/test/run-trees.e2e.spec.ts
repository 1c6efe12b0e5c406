import { eventually } from '@agentlens/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Client } from './support/client.ts';
import { startDistributed } from './support/distributed.ts';
import { startEmbedded } from './support/embedded.ts';
import type { PlatformUnderTest } from './support/platform-under-test.ts';

/** Time for one change on a busy machine. */
const PATIENTLY = { timeoutMs: 30_000 };

describe.each([
  ['one process', startEmbedded, 'evaluator'],
  ['one process', startEmbedded, 'gateway'],
  ['services on NATS and Redis', startDistributed, 'evaluator'],
  ['services on NATS and Redis', startDistributed, 'gateway'],
] as const)('run trees, in %s', (_, start, path) => {
  let platform: PlatformUnderTest;
  let admin: Client;
  let agent: Client;
  beforeAll(async () => {
    // With one evaluator, a budget that was applied once is known.
    platform = await start({ env: { AGENTLENS_DECISION_PATH: path }, evaluators: 1 });
    admin = new Client(platform, (await platform.keyOf('acme', 'admin')).key);
    agent = new Client(platform, (await platform.keyOf('acme', 'ingest', 'decide')).key);
  });
  afterAll(() => platform?.stop());

  const started = async (runId: string, parentRunId?: string) =>
    (await agent.post(`/v1/runs/${runId}/start`, { agentId: 'planner', ...(parentRunId && { parentRunId }) })).body;
  const asked = async (runId: string) =>
    (
      await agent.post(`/v1/runs/${runId}/evaluate`, {
        ...{ phase: 'tool.before', agentId: 'planner', tool: { name: 'search' }, args: {}, tags: {} },
        deadlineMs: 5_000,
      })
    ).body;

  it(`are limited in depth, children and runs, decided by the ${path}`, async () => {
    expect((await admin.put('/api/trees/limits', { limits: { maxDepth: 2, maxChildren: 2, maxRuns: 4 } })).status).toBe(
      200,
    );
    // The limits reach a gateway within 5 seconds. An earlier start does not count.
    await eventually(async () => {
      await started('probe-2', 'probe-1');
      await started('probe-3', 'probe-2');
      expect(await started('probe-4', 'probe-3')).toMatchObject({
        lockdown: { active: true, lockdownId: 'tree:depth' },
      });
    }, PATIENTLY);
    // A store that answers late opens the limits of children and runs for two seconds, so a tree may be tried again.
    let tries = 0;
    const named = (run: string) => `${run}-${tries}`;
    await eventually(async () => {
      tries += 1;
      await started(named('root'));
      for (const run of ['a', 'b'])
        expect(await started(named(run), named('root'))).toMatchObject({ lockdown: { active: false } });
      expect(await started(named('c'), named('root'))).toMatchObject({
        lockdown: { active: true, kind: 'killed', lockdownId: 'tree:children' },
      });
      expect(await started(named('a1'), named('a'))).toMatchObject({ lockdown: { active: false } });
      expect(await started(named('a2'), named('a'))).toMatchObject({
        lockdown: { active: true, lockdownId: 'tree:runs' },
      });
    }, PATIENTLY);
    for (const [run, lockdownId] of [
      ['probe-4', 'tree:depth'],
      [named('c'), 'tree:children'],
      [named('a2'), 'tree:runs'],
    ] as const) {
      const message = expect.stringMatching(/at most [24] .*\(max(Depth|Children|Runs)\)$|at most 2 ancestors/);
      expect(await asked(run)).toMatchObject({
        ...{ verdict: 'BLOCK', control: 'TERMINATE', message, cause: { kind: 'LOCKDOWN', lockdownId } },
      });
    }
    for (const run of ['root', 'a', 'b', 'a1']) expect(await asked(named(run))).toMatchObject({ verdict: 'ALLOW' });
    await eventually(async () => {
      const { body } = await admin.get(`/api/decisions?runId=${named('c')}`);
      expect(body.decisions).toMatchObject([{ verdict: 'BLOCK', reason: 'tree_limit' }]);
    }, PATIENTLY);
  });

  it('share a budget, also if the parent of a root becomes known late', async () => {
    const budget = { name: 'One task', scope: 'tree', period: 'total', limitUsd: 1, onUnavailable: 'block' };
    const { status, body } = await admin.post('/api/budgets', budget);
    expect(status).toBe(201);
    const pots = async () => (await admin.get(`/api/budgets/${body.id}`)).body.pots;
    const pot = async (runId: string) => (await admin.get(`/api/budgets/${body.id}?scopeId=${runId}`)).body.pots[0];
    const asks = async (runId: string, callId: string, costUsd: number) =>
      (
        await agent.post(`/v1/runs/${runId}/evaluate`, {
          ...{ phase: 'llm.before', agentId: 'planner', callId, estimate: { tokens: 10, costUsd }, deadlineMs: 5_000 },
        })
      ).body;
    await started('top');
    await started('beside', 'top');
    await started('leaf', 'middle');
    await eventually(async () => {
      expect(await asks('leaf', 'call-1', 0.5)).toMatchObject({ verdict: 'ALLOW', reservationId: expect.any(String) });
    }, PATIENTLY);
    expect(await asks('beside', 'call-2', 0.4)).toMatchObject({ verdict: 'ALLOW' });
    const event = { schema: 'handlebar.audit.v1', ts: new Date().toISOString(), runId: 'leaf', kind: 'llm.result' };
    const events = [{ ...event, data: { callId: 'call-1', costUsd: 0.25 } }];
    expect((await agent.post('/v1/runs/events', { agentId: 'planner', events })).body).toMatchObject({ accepted: 1 });
    expect(await started('middle', 'top')).toMatchObject({ lineage: { ancestors: ['top'] } });
    await eventually(async () => {
      for (const run of ['top', 'middle', 'leaf', 'beside'])
        expect(await pot(run)).toMatchObject({ spentUsd: 0.25, reservedUsd: 0.4 });
    }, PATIENTLY);
    expect(await asks('top', 'call-3', 0.6)).toMatchObject({ verdict: 'BLOCK', cause: { kind: 'RULE_VIOLATION' } });
    // The ledger balances what was spent under the former root.
    await eventually(async () => expect(await pots()).toMatchObject([{ scopeId: 'top', spentUsd: 0.25 }]), PATIENTLY);
  });

  it('share a breaker, which stops every run of the tree and closes for all of them', async () => {
    const limits = { maxIterations: 3, maxConfidenceDrop: null };
    const tenantId = (await admin.get('/api/me')).body.tenantId;
    expect((await admin.put('/api/breakers/limits', { scope: 'tree', limits })).status).toBe(200);
    expect((await admin.put('/api/breakers/limits', { scope: 'tree', id: 'lead', limits })).body).toMatchObject({
      details: [{ message: expect.stringContaining('id') }],
    });
    await started('lead');
    await started('aide', 'lead');
    const reports = async (agentId: string, runId: string, callId: string) => {
      const event = { schema: 'handlebar.audit.v1', ts: new Date().toISOString(), runId, kind: 'llm.result' };
      const events = [{ ...event, data: { callId, inTokens: 1, outTokens: 1 } }];
      expect((await agent.post('/v1/runs/events', { agentId, events })).body).toMatchObject({ accepted: 1 });
    };
    for (const call of ['1', '2']) await reports('planner', 'lead', call);
    expect(await asked('aide')).toMatchObject({ verdict: 'ALLOW' });
    for (const call of ['3', '4']) await reports('helper', 'aide', call);
    const lockdownId = 'breaker:tree:lead';
    await eventually(async () => {
      for (const run of ['lead', 'aide'])
        expect(await asked(run)).toMatchObject({
          ...{ verdict: 'BLOCK', control: 'TERMINATE', cause: { kind: 'LOCKDOWN', lockdownId } },
          message: 'The circuit breaker of this run tree is open: iterations',
        });
    }, PATIENTLY);
    expect(await asked('beside')).toMatchObject({ verdict: 'ALLOW' });
    await eventually(async () => {
      const { body } = await admin.get('/api/breakers?scope=tree');
      expect(body.breakers).toMatchObject([{ scopeId: 'lead', agentId: 'helper', state: { kind: 'open' } }]);
      const about = { state: 'breaker_open', source: 'breaker', scope: 'tree', scopeId: 'lead' };
      expect((await admin.get('/api/runs/aide')).body.control).toMatchObject(about);
      const { alerts } = (await admin.get('/api/alerts?kind=breaker')).body;
      expect(alerts).toMatchObject([{ status: 'pending', title: 'Circuit breaker is open: run tree lead' }]);
    }, PATIENTLY);
    expect((await admin.post('/api/breakers/tree/aide/reset', {})).status).toBe(200);
    await eventually(async () => {
      for (const run of ['lead', 'aide']) expect(await asked(run)).toMatchObject({ verdict: 'ALLOW' });
      expect((await admin.get('/api/alerts?kind=breaker')).body.alerts).toMatchObject([{ status: 'cancelled' }]);
    }, PATIENTLY);
    expect((await admin.delete(`/api/breakers/limits/tree/${tenantId}`)).status).toBe(200);
  });

  it('are admitted again when the limits are removed', async () => {
    expect((await admin.put('/api/trees/limits', { limits: {} })).status).toBe(200);
    await eventually(async () => {
      for (const run of ['probe-4', 'c', 'a2']) expect(await asked(run)).toMatchObject({ verdict: 'ALLOW' });
    }, PATIENTLY);
  });
});
