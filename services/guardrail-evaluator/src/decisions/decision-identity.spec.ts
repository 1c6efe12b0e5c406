import { type Alert, type Budget, COMMANDS, canonicalJson, sha256Hex } from '@agentlens/contracts';
import { type ControlState } from '@agentlens/platform';
import { afterAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { anAlert } from '../../test/asking.ts';
import { bus, call, NONE, NOW, named, serviceIn } from './decision-pipeline.testing.ts';

afterAll(() => bus.close());

describe('a run that continues under another identity', () => {
  const because = { id: 'order-1', scope: 'agent', reason: 'incident 7', since: '' } as const;
  const killed = (agentId: string): ControlState =>
    agentId === 'first' ? { kind: 'killed', because, modelOverride: null } : NONE;
  const asSecond = { agentId: 'second', startedAs: { agentId: 'first' } };

  it('is stopped by orders for the agent that started it and for the agent that asks', async () => {
    const { ask } = serviceIn({ controlState: killed });
    expect(await ask(asSecond)).toMatchObject({ control: 'TERMINATE', cause: { lockdownId: 'order-1' } });
    expect((await ask({ agentId: 'first', startedAs: { agentId: 'second' } })).control).toBe('TERMINATE');
    expect((await ask({ agentId: 'second' })).verdict).toBe('ALLOW');
  });

  it('cannot bypass an approval by naming another agent', async () => {
    const rule = {
      ...named('search'),
      actionType: 'require_approval',
      actionConfig: {},
      onUnavailable: 'allow',
    } as const;
    const { ask } = serviceIn({ rules: [rule] });
    const served = await approvals().serve();
    for (const agentId of ['first', 'second']) {
      expect(await ask({ agentId, callId: 'c' })).toMatchObject({ verdict: 'BLOCK', bypasses: [] });
    }
    for (const subscription of served) await subscription.close();
  });

  it('is subject to the rules of both agents', async () => {
    const rules = ['first', 'second'].map((agentId) => ({ ...named(`no-${agentId}`), agentId, actionType: 'block' }));
    const { ask } = serviceIn({ rules });
    for (const name of ['no-first', 'no-second'])
      expect((await ask({ ...asSecond, ...call(name) })).verdict).toBe('BLOCK');
    expect(await ask({ ...asSecond, ...call('other') })).toMatchObject({
      verdict: 'ALLOW',
      evaluatedRules: expect.arrayContaining([
        expect.objectContaining({ ruleId: 'rule-0' }),
        expect.objectContaining({ ruleId: 'rule-1' }),
      ]),
    });
  });

  it('is modified by the rules of both agents and counted for both', async () => {
    const changing = (agentId: string) => ({
      ...{ conditionType: 'tool_name', conditionConfig: { value: '*' }, agentId, actionType: 'modify_arguments' },
      actionConfig: { set: { [agentId]: true } },
    });
    const twice = { conditionType: 'max_calls', conditionConfig: { tools: ['*'], max: 2 }, actionType: 'block' };
    const { ask } = serviceIn({ rules: [changing('first'), changing('second'), twice] });
    const decision = await ask({ ...asSecond, args: {} });
    expect(decision.modifiedArgs).toEqual({ first: true, second: true });
    for (const [agentId, verdict] of [
      ['third', 'ALLOW'],
      ['fourth', 'BLOCK'],
    ] as const) {
      expect((await ask({ ...asSecond, agentId })).verdict).toBe(verdict);
    }
  });

  it('has each of its calls in its history once, even if a call ends with other arguments', async () => {
    const twice = { conditionType: 'max_calls', conditionConfig: { tools: ['*'], max: 2 }, actionType: 'block' };
    const { ask, service } = serviceIn({ rules: [twice] });
    expect((await ask({ ...asSecond, callId: 'a' })).verdict).toBe('ALLOW');
    await ask({ ...asSecond, callId: 'a', args: { q: 2 }, phase: 'tool.after', result: 'ok' });
    await service.drain();
    expect((await ask({ ...asSecond, callId: 'b' })).verdict).toBe('ALLOW');
    expect((await ask({ ...asSecond, callId: 'c' })).verdict).toBe('BLOCK');
  });

  it('charges the budgets of both agents, end users and sessions once each', async () => {
    const scopes = ['agent', 'actor', 'session', 'run'] as const;
    const budgets = scopes.map(
      (scope): Budget => ({
        ...{ id: scope, tenantId: 'acme', name: scope, scope, period: 'total', limitUsd: 1, enabled: true },
        ...{
          onUnavailable: 'block',
          onUnpriced: 'estimate',
          freeCalls: 'block',
          version: 1,
          createdAt: '',
          updatedAt: '',
        },
      }),
    );
    const { ask, state } = serviceIn({ budgets });
    const startedAs = { agentId: 'first', actor: { externalId: 'ann' }, sessionId: 's1' };
    const fields = { agentId: 'second', actor: { externalId: 'bob' }, sessionId: 's2', startedAs, callId: 'c' };
    expect((await ask({ ...fields, estimate: { tokens: 0, costUsd: 0.6 } })).verdict).toBe('ALLOW');
    const pots = [
      ...[
        ['agent', 'first'],
        ['agent', 'second'],
        ['actor', 'ann'],
        ['actor', 'bob'],
      ],
      ...[
        ['session', 's1'],
        ['session', 's2'],
        ['run', 'run'],
      ],
    ];
    const accounts = pots.map(([budgetId = '', scopeId = '']) => ({
      ...{ budgetId, scopeId, periodStart: '1970-01-01', keptMs: 1_000 },
    }));
    const balances = (await state.budgets.balances('acme', accounts, NOW)) ?? [];
    expect(balances.map(({ heldUsd }) => heldUsd)).toEqual(pots.map(() => 0.6));
    const again = { ...fields, runId: 'other', callId: 'd', agentId: 'third', estimate: { tokens: 0, costUsd: 0.6 } };
    expect((await ask({ ...again, actor: undefined, sessionId: undefined })).verdict).toBe('BLOCK');
  });
});

/** Approvals by call, as the dispatcher keeps them: valid for the agent they were requested for, until spent. */
function approvals() {
  const alerts = new Map<string, Alert>();
  const nameOf = (call: { readonly callId?: string | undefined; readonly args?: unknown }) =>
    JSON.stringify([call.callId, sha256Hex(canonicalJson(call.args))]);
  return {
    clear: () => alerts.clear(),
    approve: (call: { readonly callId: string; readonly args: unknown }) => {
      const pending = alerts.get(nameOf(call));
      if (pending !== undefined) alerts.set(nameOf(call), { ...pending, status: 'approved' });
    },
    isApproved: (call: { readonly callId: string; readonly args: unknown }) =>
      alerts.get(nameOf(call))?.status === 'approved',
    serve: () =>
      Promise.all([
        bus.serve(COMMANDS.resolveApproval, async ({ tenantId, agentId, binding }) => {
          const name = JSON.stringify([binding.callId, binding.argsHash]);
          const alert = alerts.get(name) ?? anAlert({ tenantId, agentId, status: 'pending' });
          if (alert.agentId !== agentId)
            return { ok: false as const, problem: { error: 'Of another agent', status: 409 } };
          alerts.set(name, alert);
          return { ok: true as const, value: alert };
        }),
        bus.serve(COMMANDS.spendApprovals, async ({ calls }) => {
          for (const { callId, argsHash } of calls) alerts.delete(JSON.stringify([callId, argsHash]));
          return { ok: true as const, value: { spent: calls.length } };
        }),
      ]),
  };
}

describe('identity', () => {
  const asking = fc.record({
    agentId: fc.constantFrom('first', 'second', 'third'),
    actor: fc.constantFrom('ann', 'bob'),
    callId: fc.constantFrom('call_0', 'call_1'),
    args: fc.record({ q: fc.nat({ max: 2 }) }),
    costUsd: fc.constantFrom(0, 0.1, 0.4),
    ends: fc.boolean(),
  });
  /** A question as the gateway forwards it, for a run that `first` started for `ann`. */
  const asStarted = ({ agentId, actor }: { agentId: string; actor: string }) => ({
    ...{ agentId, actor: { externalId: actor } },
    startedAs: {
      ...(agentId === 'first' ? {} : { agentId: 'first' }),
      ...(actor === 'ann' ? {} : { actor: { externalId: 'ann' } }),
    },
  });

  it('counts calls for the identity that started the run, regardless of the agent named and of reused ids', async () => {
    const rules = [
      { conditionType: 'max_calls', conditionConfig: { tools: ['*'], max: 3 }, agentId: 'first', actionType: 'block' },
    ];
    await fc.assert(
      fc.asyncProperty(fc.array(asking, { maxLength: 15 }), async (questions) => {
        const { ask, service } = serviceIn({ rules });
        const open = new Set<string>();
        let calls = 0;
        for (const { ends, costUsd: _, callId, args, ...who } of questions) {
          const name = JSON.stringify([callId, args]);
          const { verdict } = await ask({ ...asStarted(who), callId, args });
          expect(verdict).toBe(open.has(name) || calls < 3 ? 'ALLOW' : 'BLOCK');
          await service.drain();
          if (verdict === 'BLOCK') continue;
          if (!open.has(name)) calls += 1;
          open.add(name);
          if (!ends) continue;
          await ask({ ...asStarted(who), callId, args, phase: 'tool.after', result: 'ok' });
          open.delete(name);
        }
      }),
      { numRuns: 60 },
    );
  });

  it('stops a run that was ordered to stop, regardless of the agent named', async () => {
    const because = { id: 'order-1', scope: 'agent', reason: 'incident 7', since: '' } as const;
    const agents = ['first', 'second', 'third'];
    await fc.assert(
      fc.asyncProperty(fc.subarray(agents), fc.array(asking, { maxLength: 8 }), async (stopped, questions) => {
        const { ask } = serviceIn({
          controlState: (agentId) =>
            stopped.includes(agentId) ? { kind: 'killed', because, modelOverride: null } : NONE,
        });
        for (const { callId, args, ...who } of questions) {
          const { control } = await ask({ ...asStarted(who), callId, args });
          const isStopped = stopped.includes('first') || stopped.includes(who.agentId);
          expect(control).toBe(isStopped ? 'TERMINATE' : 'CONTINUE');
        }
      }),
      { numRuns: 60 },
    );
  });

  it('lets an approval cover the requested call once, regardless of the agent named', async () => {
    const rule = { ...named('search'), actionType: 'require_approval', actionConfig: {} } as const;
    const approver = approvals();
    const served = await approver.serve();
    await fc.assert(
      fc.asyncProperty(fc.array(fc.tuple(asking, fc.boolean()), { maxLength: 15 }), async (questions) => {
        approver.clear();
        const { ask, service } = serviceIn({ rules: [rule] });
        for (const [{ ends, callId, args, ...who }, approves] of questions) {
          const before = { ...asStarted(who), callId, args };
          const isApproved = approver.isApproved(before);
          expect((await ask(before)).verdict).toBe(isApproved ? 'ALLOW' : 'BLOCK');
          if (approves) approver.approve(before);
          if (isApproved && ends) await ask({ ...before, phase: 'tool.after', result: 'ok' });
          await service.drain();
        }
      }),
      { numRuns: 60 },
    );
    for (const subscription of served) await subscription.close();
  });

  it('charges allowed calls to the budgets of the identity that started the run', async () => {
    const budgets = (['agent', 'actor'] as const).map(
      (scope): Budget => ({
        ...{ id: scope, tenantId: 'acme', name: scope, scope, period: 'total', limitUsd: 1, enabled: true },
        ...{
          onUnavailable: 'block',
          onUnpriced: 'estimate',
          freeCalls: 'block',
          version: 1,
          createdAt: '',
          updatedAt: '',
        },
      }),
    );
    const account = (budgetId: string, scopeId: string) => ({
      ...{ budgetId, scopeId, periodStart: '1970-01-01', keptMs: 1_000 },
    });
    await fc.assert(
      fc.asyncProperty(fc.array(asking, { maxLength: 15 }), async (questions) => {
        const { ask, state } = serviceIn({ budgets });
        const open = new Set<string>();
        let letThrough = 0;
        for (const { ends, costUsd, callId, args, ...who } of questions) {
          const name = JSON.stringify([callId, args, costUsd]);
          const estimate = { tokens: 0, costUsd };
          const decision = await ask({
            ...asStarted(who),
            phase: 'llm.before',
            tool: undefined,
            callId,
            args,
            estimate,
          });
          if (decision.verdict === 'ALLOW' && !open.has(name)) {
            letThrough += costUsd;
            open.add(name);
          }
          const pots = [account('agent', 'first'), account('actor', 'ann')];
          for (const { spentUsd, heldUsd } of (await state.budgets.balances('acme', pots, NOW)) ?? []) {
            expect(spentUsd + heldUsd).toBeCloseTo(letThrough, 6);
            expect(spentUsd + heldUsd).toBeLessThanOrEqual(1 + 1e-6);
          }
          if (!ends || decision.reservationId === undefined) continue;
          // Of several calls with one id the oldest ends. Its cost is unknown, so its estimate is charged.
          await state.budgets.spend(
            'acme',
            [{ reservationId: decision.reservationId, costUsd: null, accounts: [] }],
            NOW,
          );
          const oldest = [...open].find((one) => (JSON.parse(one) as unknown[])[0] === callId);
          if (oldest !== undefined) open.delete(oldest);
        }
      }),
      { numRuns: 60 },
    );
  });
});
