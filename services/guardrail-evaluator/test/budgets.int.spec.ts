import { type Budget, COMMANDS, type DecisionRequest } from '@agentlens/contracts';
import { describe, expect, it } from '@jest/globals';
import { aQuestion, replyValue } from './asking.ts';
import { aModelCall, anEventOfTheRun, decidingPlatform } from './deciding-platform.ts';

const platform = decidingPlatform();
const { newTenant, replica, asking, publish, budget, settled } = platform;

describe('a budget', () => {
  const reserve = (costUsd: number, fields: Partial<DecisionRequest> = {}) =>
    asking({ phase: 'llm.before', tool: undefined, estimate: { tokens: 10, costUsd }, ...fields });
  const spent = async ({ id: budgetId }: { id: string }, scopeId = platform.tenantId) => {
    const account = { budgetId, scopeId, periodStart: '1970-01-01', keptMs: 1_000_000 };
    const [balance] = (await platform.harness.state.budgets.balances(platform.tenantId, [account], Date.now())) ?? [];
    return { spentUsd: balance?.spentUsd, heldUsd: balance?.heldUsd };
  };

  it('reserves an estimate, which the event of the same call settles once', async () => {
    newTenant();
    await replica();
    const money = await budget({});
    const decision = await reserve(0.8, { callId: 'call' });
    expect(decision).toMatchObject({ verdict: 'ALLOW', reservationId: expect.any(String) });
    expect(await spent(money)).toEqual({ spentUsd: 0, heldUsd: 0.8 });
    const refused = await reserve(0.3, { callId: 'other' });
    expect(refused).toMatchObject({
      ...{ verdict: 'BLOCK', control: 'CONTINUE', cause: { kind: 'RULE_VIOLATION', ruleId: money.id } },
      message: 'What this call is expected to cost does not fit into the budget "Money" any more',
    });
    const done = aModelCall({ callId: 'call', usage: { costUsd: 0.25 } });
    await publish(done);
    await publish(done);
    await settled();
    expect(await spent(money)).toEqual({ spentUsd: 0.25, heldUsd: 0 });
    expect((await reserve(0.75, { callId: 'other' })).verdict).toBe('ALLOW');
    expect((await asking()).verdict).toBe('ALLOW');
  });

  it('can be changed, keeps what was spent, and rejects a change for a stale version', async () => {
    newTenant();
    await replica();
    const money = await budget({});
    await publish(aModelCall({ callId: 'call', usage: { costUsd: 1 } }));
    await settled();
    expect((await asking()).verdict).toBe('BLOCK');
    const change = (body: object, ifVersion?: number) => {
      const question = { tenantId: platform.tenantId, budgetId: money.id, body, ifVersion };
      return platform.harness.bus.request(COMMANDS.updateBudget, question);
    };
    const raised = { ok: true, value: { limitUsd: 2, name: 'Money', version: 2 } };
    expect(await change({ limitUsd: 2 }, 1)).toMatchObject(raised);
    expect(await spent(money)).toEqual({ spentUsd: 1, heldUsd: 0 });
    expect((await asking()).verdict).toBe('ALLOW');
    expect(await change({ limitUsd: 3 }, 1)).toMatchObject({ ok: false, problem: { status: 412, currentVersion: 2 } });
    expect(await change({ scope: 'run' })).toMatchObject({ ok: false, problem: { status: 400 } });
    expect(await change({ limitUsd: 0.5 })).toMatchObject({ ok: true, value: { version: 3 } });
    expect((await asking()).verdict).toBe('BLOCK');
    const remove = (ifVersion?: number) =>
      platform.harness.bus.request(COMMANDS.deleteBudget, {
        ...{ tenantId: platform.tenantId, budgetId: money.id, ifVersion },
      });
    expect(await remove(2)).toMatchObject({ ok: false, problem: { status: 412, currentVersion: 3 } });
    expect(await remove(3)).toMatchObject({ ok: true });
    expect((await asking()).verdict).toBe('ALLOW');
    expect(await remove()).toMatchObject({ ok: false, problem: { status: 404 } });
  });

  it('that is spent blocks every call, and does not reveal its amount', async () => {
    newTenant();
    await replica();
    await budget({ name: 'Per run', scope: 'run', limitUsd: 1.2345 });
    await publish(aModelCall({ usage: { costUsd: 1.3 } }));
    await settled();
    const decision = await asking();
    expect(decision).toMatchObject({ verdict: 'BLOCK', control: 'CONTINUE', message: 'The budget "Per run" is spent' });
    expect(JSON.stringify(decision)).not.toContain('1.2345');
    expect((await asking({ runId: 'run-2' })).verdict).toBe('ALLOW');
  });

  it('is written to the ledger and restored after Redis lost its data', async () => {
    newTenant();
    const { evaluator } = await replica();
    const money = await budget({ scope: 'agent', limitUsd: 2 });
    const { reservationId = '' } = await reserve(1, { callId: 'call' });
    await publish(aModelCall({ usage: { costUsd: 0.7 } }));
    await replyValue(
      platform.harness.bus.request(COMMANDS.settleReservation, {
        tenantId: platform.tenantId,
        reservationId,
        costUsd: 0.4,
      }),
    );
    await settled();
    await evaluator.ledger.flush();
    const rows = await platform.harness.database.db
      .selectFrom('budget_ledger')
      .select(['cost_usd', 'estimate_usd'])
      .where('tenant_id', '=', platform.tenantId)
      .orderBy('cost_usd')
      .execute();
    expect(rows).toEqual([
      { cost_usd: 0.4, estimate_usd: 1 },
      { cost_usd: 0.7, estimate_usd: 0 },
    ]);
    await platform.harness.flushRedis();
    await asking();
    expect(await spent(money, 'agent-1')).toEqual({ spentUsd: 1.1, heldUsd: 0 });
    expect((await reserve(0.91)).verdict).toBe('BLOCK');
    expect((await reserve(0.9)).verdict).toBe('ALLOW');
  });

  it('is exceeded by 500 concurrent callers only by the error of their estimates, and rejects none while money is left', async () => {
    newTenant();
    const replicas = [await replica(), await replica()];
    const money = await budget({ limitUsd: 4 });
    for (const { evaluator } of replicas) await evaluator.settings.reload(platform.tenantId);
    const patient = { ...COMMANDS.decide, deadlineMs: 30_000 };
    const estimate = { tokens: 0, costUsd: 0.01 };
    const caller = (n: number) => ({ tenantId: platform.tenantId, estimate, callId: `call-${n}`, deadlineMs: 30_000 });
    const answers = await Promise.all(
      Array.from({ length: 500 }, (_, n) => replyValue(platform.harness.bus.request(patient, aQuestion(caller(n))))),
    );
    const allowed = answers.filter(({ verdict }) => verdict === 'ALLOW');
    expect(allowed).toHaveLength(400);
    expect(await spent(money)).toEqual({ spentUsd: 0, heldUsd: 4 });
    // Every call costs 20 % more than its estimate.
    await publish(...allowed.map(({ callId }) => aModelCall({ callId, usage: { costUsd: 0.012 } })));
    await settled();
    expect(await spent(money)).toEqual({ spentUsd: 4.8, heldUsd: 0 });
  });

  it('reports what is spent, reserved and left, and by whom', async () => {
    newTenant();
    const { evaluator } = await replica();
    const balances = (scopeId?: string) =>
      platform.harness.bus.request(COMMANDS.budgetStanding, {
        tenantId: platform.tenantId,
        budgetId: money.id,
        scopeId,
      });
    const money = await budget({ scope: 'agent', limitUsd: 2, period: 'day' });
    expect(await replyValue(balances())).toMatchObject({ budget: { id: money.id }, pots: [] });
    await publish(aModelCall({ usage: { costUsd: 0.7 } }), aModelCall({ agentId: 'agent-2', usage: { costUsd: 2.5 } }));
    await settled();
    await reserve(0.4, { callId: 'call' });
    await evaluator.ledger.flush();
    const periodStart = new Date().toISOString().slice(0, 10);
    const priced = { unpricedCalls: 0, estimatedUsd: 0 };
    const pot = { scopeId: 'agent-1', periodStart, spentUsd: 0.7, reservedUsd: 0.4, remainingUsd: 0.9, ...priced };
    const overdrawn = { scopeId: 'agent-2', periodStart, spentUsd: 2.5, reservedUsd: 0, remainingUsd: 0, ...priced };
    expect((await replyValue(balances())).pots).toEqual([overdrawn, pot]);
    expect((await replyValue(balances('agent-1'))).pots).toEqual([pot]);
    const unknown = { tenantId: platform.tenantId, budgetId: 'nobody' };
    expect(await platform.harness.bus.request(COMMANDS.budgetStanding, unknown)).toMatchObject({
      problem: { status: 404 },
    });
  });

  it('counts calls without a price, charges an estimate for them and raises an alert', async () => {
    newTenant();
    await replica();
    const alerts: unknown[] = [];
    const served = await platform.harness.bus.serve(COMMANDS.raiseAlert, async (alert) => {
      alerts.push(alert);
      return { ok: false as const, problem: { error: 'not here', status: 503 } };
    });
    const [estimates, blocks] = [await budget({ limitUsd: 2 }), await budget({ limitUsd: 9, onUnpriced: 'block' })];
    const usage = { costSource: 'unpriced', unpricedReason: 'unknown_model', estimatedCostUsd: 0.5 } as const;
    await publish(aModelCall({ model: 'new', usage }));
    await settled();
    const standing = ({ id: budgetId }: Pick<Budget, 'id'>) =>
      replyValue(platform.harness.bus.request(COMMANDS.budgetStanding, { tenantId: platform.tenantId, budgetId }));
    for (const one of [estimates, blocks]) {
      expect((await standing(one)).pots).toMatchObject([{ spentUsd: 0.5, unpricedCalls: 1, estimatedUsd: 0.5 }]);
    }
    expect(await asking()).toMatchObject({ verdict: 'BLOCK', budgetId: blocks.id });
    expect(alerts).toMatchObject([{ kind: 'spend', title: 'No known price for new' }]);
    await served.close();
  });

  it('of an end user applies to that user only', async () => {
    newTenant();
    await replica();
    await budget({ scope: 'actor', limitUsd: 1 });
    await publish(aModelCall({ metadata: { actorExternalId: 'ann' }, usage: { costUsd: 1 } }));
    await settled();
    expect((await asking({ actor: { externalId: 'ann' } })).verdict).toBe('BLOCK');
    expect((await asking({ actor: { externalId: 'bob' } })).verdict).toBe('ALLOW');
    expect((await asking()).verdict).toBe('ALLOW');
  });

  it('of a session is shared by its runs, even if only their events name the session', async () => {
    newTenant();
    await replica();
    await budget({ scope: 'session', limitUsd: 1 });
    await publish(aModelCall({ runId: 'run-1', sessionId: 'talk', usage: { costUsd: 1 } }));
    await publish(anEventOfTheRun({ kind: 'run.started', runId: 'run-2', sessionId: 'talk' }));
    await settled();
    for (const runId of ['run-1', 'run-2']) expect((await asking({ runId })).verdict).toBe('BLOCK');
    expect((await asking({ runId: 'run-3', sessionId: 'talk' })).verdict).toBe('BLOCK');
    expect((await asking({ runId: 'run-3' })).verdict).toBe('ALLOW');
  });

  it('does not apply after it was deleted', async () => {
    newTenant();
    await replica();
    const money = await budget({ limitUsd: 0.01 });
    await publish(aModelCall({ usage: { costUsd: 1 } }));
    await settled();
    expect((await asking()).verdict).toBe('BLOCK');
    await replyValue(
      platform.harness.bus.request(COMMANDS.deleteBudget, { tenantId: platform.tenantId, budgetId: money.id }),
    );
    expect((await asking()).verdict).toBe('ALLOW');
    const again = await platform.harness.bus.request(COMMANDS.deleteBudget, {
      tenantId: platform.tenantId,
      budgetId: money.id,
    });
    expect(again).toMatchObject({ ok: false, problem: { status: 404 } });
  });

  it.each([
    [{ limitUsd: 0 }, 'limitUsd'],
    [{ scope: 'planet' }, 'scope'],
    [{ scope: 'tenant', scopeId: 'x' }, 'scopeId'],
    [{ period: 'hour' }, 'period'],
    [{ name: '' }, 'name'],
    [{ limit: 5 }, ''],
  ])('is rejected with %j', async (body, path) => {
    newTenant();
    await replica();
    const draft = { name: 'Money', scope: 'tenant', period: 'total', limitUsd: 1, ...body };
    const answer = await platform.harness.bus.request(COMMANDS.createBudget, {
      tenantId: platform.tenantId,
      body: draft,
    });
    expect(answer).toMatchObject({ ok: false, problem: { status: 400, details: [{ path }] } });
  });
});
