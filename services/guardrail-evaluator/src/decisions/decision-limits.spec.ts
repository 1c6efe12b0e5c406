import type { Budget } from '@agentlens/contracts';
import { CALL_STEPS } from '@agentlens/guardrails';
import { StateUnavailable } from '@agentlens/state';
import { afterAll, describe, expect, it } from '@jest/globals';
import type { TenantLimits } from '../breakers/limits.ts';
import { bus, call, NOW, named, serviceIn } from './decision-pipeline.testing.ts';
import { TenantSteps } from './rule-steps.ts';

afterAll(() => bus.close());

describe('breakers', () => {
  const limits = (maxTokens: number): TenantLimits => ({
    agents: new Map(),
    runs: new Map([
      [
        'run',
        {
          ...{ maxTokens, maxIterations: 10, maxCostUsd: 10, maxConsecutiveFailures: 5, maxConfidenceDrop: null },
          ...{ confidenceWindow: 5, probeAfterSeconds: null },
        },
      ],
    ]),
  });

  it('open above the limit, not at it, and do not reveal the limit', async () => {
    const { ask, recorded } = serviceIn({ limits: limits(4321) });
    const metrics = { llm_tokens_in: 4321 };
    expect((await ask({ metrics, callId: 'a' })).verdict).toBe('ALLOW');
    const decision = await ask({ metrics: { llm_tokens_out: 1 }, callId: 'b' });
    expect(decision).toMatchObject({ verdict: 'BLOCK', control: 'TERMINATE', cause: { kind: 'LOCKDOWN' } });
    expect(JSON.stringify(decision)).not.toContain('4321');
    expect(recorded).toMatchObject([{ state: { kind: 'open', reason: 'tokens' } }]);
  });

  it('count the model call that the question is about', async () => {
    const { ask } = serviceIn({ limits: limits(100) });
    const estimate = { tokens: 101, costUsd: 0 };
    expect((await ask({ phase: 'llm.before', tool: undefined, estimate })).verdict).toBe('BLOCK');
  });

  it('ignore invalid metrics', async () => {
    const { ask } = serviceIn({ limits: limits(100) });
    const metrics = { llm_tokens_in: -5, llm_tokens_out: Number.POSITIVE_INFINITY, llm_cost_usd: Number.NaN };
    expect((await ask({ metrics })).verdict).toBe('ALLOW');
    expect((await ask()).verdict).toBe('ALLOW');
  });
});

describe('budgets', () => {
  const budget: Budget = {
    ...{ id: 'b', tenantId: 'acme', name: 'Pocket money', scope: 'run', period: 'total', limitUsd: 1, enabled: true },
    ...{ onUnavailable: 'allow', onUnpriced: 'estimate', freeCalls: 'block', version: 1, createdAt: '', updatedAt: '' },
  };

  it('do not reserve money for a call that a rule blocks', async () => {
    const { ask, state } = serviceIn({ budgets: [budget], rules: [{ ...named('rm'), actionType: 'block' }] });
    expect((await ask({ ...call('rm'), estimate: { tokens: 0, costUsd: 0.5 } })).finalRuleId).toBe('rule-0');
    const account = { budgetId: 'b', scopeId: 'run', periodStart: '1970-01-01', keptMs: 1 };
    expect(await state.budgets.balances('acme', [account], NOW)).toBeNull();
  });

  it('return the same reservation for the retry of a call', async () => {
    const { ask } = serviceIn({ budgets: [budget] });
    const estimate = { tokens: 0, costUsd: 0.9 };
    const first = await ask({ callId: 'a', estimate });
    const second = await ask({ callId: 'a', estimate });
    expect(second.reservationId).toBe(first.reservationId);
    expect((await ask({ callId: 'b', estimate })).verdict).toBe('BLOCK');
  });

  it('of a tree apply to the root and its descendants, and are checked only if the tree is known', async () => {
    const ofTree: Budget = { ...budget, id: 'tree', scope: 'tree', onUnavailable: 'block' };
    const { ask, refusals } = serviceIn({ budgets: [ofTree] });
    const estimate = { tokens: 1, costUsd: 0.4 };
    expect(await ask({ runId: 'a', callId: '1', ancestors: ['root'], estimate })).toMatchObject({ verdict: 'ALLOW' });
    // The first question of a run that turns out to be no root.
    expect(await ask({ runId: 'top', callId: '2', estimate })).toMatchObject({ verdict: 'ALLOW' });
    const late = { runId: 'b', callId: '3', ancestors: ['a', 'root', 'top'], estimate };
    expect(await ask(late)).toMatchObject({ verdict: 'BLOCK', reason: 'budget', budgetId: 'tree' });
    expect(await ask({ runId: 'root', callId: '4', estimate })).toMatchObject({ verdict: 'BLOCK' });
    expect(await ask({ runId: 'other', callId: '5', estimate })).toMatchObject({ verdict: 'ALLOW' });
    expect(await ask({ runId: 'c', callId: '6', ancestors: ['d'], ancestorsUnknown: true, estimate })).toMatchObject({
      ...{ verdict: 'BLOCK', bypasses: [{ ruleId: 'tree', why: 'unavailable', did: 'block' }] },
    });
    expect(refusals.map(([, why]) => why)).toEqual(['estimate', 'estimate', 'unavailable']);
  });

  it('reserve for every call of one id, and block each if the budget is spent', async () => {
    const { ask, state } = serviceIn({ budgets: [budget] });
    const costing = (costUsd: number, args = {}) =>
      ask({ callId: 'c1', phase: 'llm.before', tool: undefined, args, estimate: { tokens: 0, costUsd } });
    expect((await costing(0.1)).verdict).toBe('ALLOW');
    expect((await costing(5)).verdict).toBe('BLOCK');
    expect((await costing(0.5, { other: true })).verdict).toBe('ALLOW');
    expect((await costing(0.5, { third: true })).verdict).toBe('BLOCK');
    const account = {
      budgetId: 'b',
      scopeId: 'run',
      periodStart: '1970-01-01',
      keptMs: 1_000,
      onUnpriced: 'estimate',
    } as const;
    await state.budgets.spend('acme', [{ eventId: 'e', costUsd: 1, accounts: [account] }], NOW);
    expect((await costing(0, { last: true })).verdict).toBe('BLOCK');
  });

  it.each([
    ['allow', 'ALLOW'],
    ['block', 'BLOCK'],
  ] as const)('%s a call that is estimated at nothing when they are spent', async (freeCalls, verdict) => {
    const { ask, state } = serviceIn({ budgets: [{ ...budget, freeCalls }] });
    expect((await ask({ callId: 'a', estimate: { tokens: 0, costUsd: 0.5 } })).verdict).toBe('ALLOW');
    const account = {
      budgetId: 'b',
      scopeId: 'run',
      periodStart: '1970-01-01',
      keptMs: 1_000,
      onUnpriced: 'estimate',
    } as const;
    await state.budgets.spend('acme', [{ eventId: 'e', costUsd: 1, accounts: [account] }], NOW);
    expect((await ask({ callId: 'b', estimate: { tokens: 0, costUsd: 0.1 } })).verdict).toBe('BLOCK');
    expect((await ask({ callId: 'c', estimate: { tokens: 0, costUsd: 0 } })).verdict).toBe(verdict);
  });

  it('count every call they block by reason, and no other', async () => {
    const spent = { ...budget, id: 'spent', limitUsd: 0 };
    const { ask, refusals } = serviceIn({ budgets: [budget], rules: [{ ...named('rm'), actionType: 'block' }] });
    const estimate = { tokens: 0, costUsd: 0.6 };
    for (const callId of ['a', 'b', 'c']) await ask({ callId, estimate });
    await ask({ ...call('rm'), callId: 'd', estimate });
    await ask({ phase: 'tool.after', estimate });
    expect(refusals).toEqual([
      ['b', 'estimate'],
      ['b', 'estimate'],
    ]);
    const broke = serviceIn({ budgets: [spent] });
    expect(await broke.ask()).toMatchObject({ reason: 'budget', budgetId: 'spent', cause: { kind: 'RULE_VIOLATION' } });
    expect(broke.refusals).toEqual([['spent', 'spent']]);
  });

  it('count calls blocked because the budget was unavailable', async () => {
    const careful = { ...budget, id: 'careful', onUnavailable: 'block' as const };
    const { ask, state, refusals } = serviceIn({ budgets: [budget, careful] });
    state.budgets.reserve = async () => {
      throw new StateUnavailable('away', new Error('away'));
    };
    await ask({ estimate: { tokens: 0, costUsd: 0.1 } });
    expect(refusals).toEqual([['careful', 'unavailable']]);
  });

  it('have no effect if they are disabled', async () => {
    const { ask } = serviceIn({ budgets: [{ ...budget, enabled: false }] });
    expect(await ask({ estimate: { tokens: 0, costUsd: 50 } })).toMatchObject({ verdict: 'ALLOW' });
  });
});

describe('TenantSteps', () => {
  it('bounds each call and all calls of a tenant, regardless of other tenants', () => {
    let nowMs = 0;
    const steps = new TenantSteps(() => nowMs);
    const half = CALL_STEPS / 2;
    expect(steps.ofCall('acme').take(CALL_STEPS + 1)).toBe(false);
    const call = steps.ofCall('acme');
    expect([call.take(half), call.take(half), call.take(1)]).toEqual([true, true, false]);
    expect(steps.ofCall('acme').take(1)).toBe(false);
    expect(steps.ofCall('globex').take(CALL_STEPS)).toBe(true);
    nowMs += 500;
    expect(steps.ofCall('acme').take(1_000_000)).toBe(true);
    expect(steps.ofCall('acme').take(1)).toBe(false);
    nowMs += 3_600_000;
    expect(steps.ofCall('acme').take(CALL_STEPS)).toBe(true);
    expect(steps.ofCall('acme').take(1)).toBe(false);
  });

  it('does not refill when the clock goes backwards', () => {
    let nowMs = 10_000;
    const steps = new TenantSteps(() => nowMs);
    expect(steps.ofCall('acme').take(CALL_STEPS)).toBe(true);
    nowMs = 0;
    expect(steps.ofCall('acme').take(1)).toBe(false);
  });
});
