import {
  type Alert,
  type Budget,
  COMMANDS,
  canonicalJson,
  type Decision,
  type DecisionRequest,
  type GuardrailRule,
  sha256Hex,
} from '@agentlens/contracts';
import { activate, DecisionBook } from '@agentlens/guardrails';
import { createMemoryBus } from '@agentlens/messaging';
import { type ControlState, createLogger } from '@agentlens/platform';
import { createMemoryState, StateUnavailable } from '@agentlens/state';
import { aRule } from '@agentlens/testing';
import { afterAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { anAlert } from '../../test/asking.ts';
import { BreakerService } from '../breakers/breaker.service.ts';
import { BreakerTransactions } from '../breakers/breaker-transactions.ts';
import { ClosedBreakers } from '../breakers/closed-breakers.ts';
import type { TenantLimits } from '../breakers/limits.ts';
import { BudgetService } from '../budgets/budget.service.ts';
import { SeededBudgetStore } from '../budgets/seeded-budget-store.ts';
import { DecisionService } from './decision.service.ts';
import { EndedCalls } from './ended-calls.ts';
import { FactGatherer } from './fact-gatherer.ts';
import { StateCircuit } from './state-circuit.ts';
import { TenantSteps } from './tenant-steps.ts';

const NOW = Date.parse('2026-03-01T12:00:00.000Z');
const NONE: ControlState = { kind: 'none', modelOverride: null };

const bus = createMemoryBus();
afterAll(() => bus.close());

interface World {
  readonly rules?: readonly Partial<GuardrailRule>[];
  readonly controlState?: ControlState | ((agentId: string) => ControlState);
  readonly limits?: TenantLimits;
  readonly budgets?: readonly Budget[];
}

/** A decision service on memory adapters. */
function serviceIn({ rules = [], controlState = NONE, limits, budgets }: World = {}) {
  const state = createMemoryState({ clock: { now: () => NOW } });
  const logger = createLogger({ name: 'test', level: 'silent' });
  const active = rules.map((rule, at) => {
    const activated = activate(aRule({ id: `rule-${at}`, name: `Rule ${at}`, ...rule }));
    if (!activated.ok) throw new Error(activated.reason);
    return activated.value;
  });
  const offered: Decision[] = [];
  const recorded: unknown[] = [];
  const refusals: [budgetId: string, why: string][] = [];
  const now = () => NOW;
  const closed = new ClosedBreakers();
  const open = { of: () => undefined };
  const circuit = new StateCircuit({ probe: async () => undefined, logger });
  const transactions = new BreakerTransactions({
    ...{ store: state.breakers, now, open, closed },
    recorder: { record: (change) => recorded.push(change) },
  });
  const budgetStore = new SeededBudgetStore(
    state.budgets,
    { spent: async () => [], record: async () => undefined },
    now,
  );
  const service = new DecisionService({
    control: { stateOf: (_, agentId) => (typeof controlState === 'function' ? controlState(agentId) : controlState) },
    rules: { decisions: DecisionBook.EMPTY.withTenant('acme', active) },
    breakers: new BreakerService({ transactions, store: state.breakers, limits: { of: () => limits }, open, closed }),
    budgets: new BudgetService({ budgetStore, budgets: { of: () => budgets } }),
    facts: new FactGatherer({
      ...{ calls: state.calls, windows: state.windows, circuit, logger },
      agents: { agent: async () => ({ tags: ['prod'] }) },
    }),
    bus,
    ended: new EndedCalls({ bus, logger }),
    circuit,
    publisher: { offer: (decision) => offered.push(decision) },
    metrics: {
      decided: () => undefined,
      refusedByBudget: ({ budget, why }) => refusals.push([budget.id, why]),
    },
    steps: new TenantSteps(now),
    clock: { now },
    logger,
  });
  const ask = (fields: Partial<DecisionRequest> = {}) =>
    service.decide({
      ...{
        tenantId: 'acme',
        agentId: 'agent',
        runId: 'run',
        phase: 'tool.before',
        tags: {},
        subjects: [],
        metrics: {},
      },
      ...{ tool: { name: 'search', tags: [] }, args: { q: 1 }, deadlineMs: 1_000 },
      receivedAt: new Date(NOW).toISOString(),
      ...fields,
    });
  return { ask, service, state, offered, recorded, refusals };
}

const named = (name: string) => ({ conditionType: 'tool_name', conditionConfig: { operator: 'eq', value: name } });
const call = (name: string) => ({ tool: { name, tags: [] } });

describe('what was ordered', () => {
  const because = { id: 'order-1', scope: 'agent', reason: 'incident 7', since: '' } as const;

  it.each(['killed', 'paused'] as const)('%s ends the run before anything else is asked', async (kind) => {
    const { ask, offered } = serviceIn({ controlState: { kind, because, modelOverride: null } });
    const decision = await ask();
    expect(decision).toMatchObject({
      ...{ verdict: 'BLOCK', control: 'TERMINATE', effect: 'terminate' },
      cause: { kind: 'LOCKDOWN', lockdownId: 'order-1' },
      message: `This agent is ${kind}: incident 7`,
    });
    expect(offered).toEqual([decision]);
  });
});

describe('rules', () => {
  it.each([
    ['block', {}, { verdict: 'BLOCK', control: 'CONTINUE', effect: 'block', message: 'Blocked by rule "Rule 0"' }],
    ['block', { message: 'Not here' }, { message: 'Not here' }],
    ['terminate_run', {}, { verdict: 'BLOCK', control: 'TERMINATE', effect: 'terminate' }],
  ])('%s %j', async (actionType, actionConfig, answer) => {
    const { ask } = serviceIn({ rules: [{ ...named('rm'), actionType, actionConfig }] });
    expect(await ask(call('rm'))).toMatchObject({
      ...answer,
      cause: { kind: 'RULE_VIOLATION', ruleId: 'rule-0' },
      finalRuleId: 'rule-0',
      evaluatedRules: [{ ruleId: 'rule-0', matched: true, violated: true, enabled: true }],
    });
    expect(await ask(call('ls'))).toMatchObject({ verdict: 'ALLOW', cause: { kind: 'ALLOW' } });
  });

  it('in shadow allow, and record what they would have said', async () => {
    const { ask } = serviceIn({ rules: [{ ...named('rm'), actionType: 'block', mode: 'shadow' }] });
    expect(await ask(call('rm'))).toMatchObject({
      ...{ verdict: 'ALLOW', effect: 'block', cause: { kind: 'ALLOW' } },
      evaluatedRules: [{ mode: 'shadow', violated: true }],
    });
  });

  it('are told the digest of the arguments, which are not kept', async () => {
    const { ask, offered } = serviceIn();
    await ask({ args: { b: 1, a: 'secret' } });
    expect(offered[0]?.inputsDigest).toBe(sha256Hex(canonicalJson({ a: 'secret', b: 1 })));
    expect(JSON.stringify(offered)).not.toContain('secret');
  });
});

describe('a call', () => {
  const twice = { conditionType: 'max_calls', conditionConfig: { tools: ['*'], max: 2 }, actionType: 'block' };

  it('is counted once, however often it is asked about', async () => {
    const { ask } = serviceIn({ rules: [twice] });
    for (const callId of ['a', 'a', 'b', 'a']) expect((await ask({ callId })).verdict).toBe('ALLOW');
    expect((await ask({ callId: 'c' })).verdict).toBe('BLOCK');
  });

  it('is counted in its run, whichever agent is named', async () => {
    const { ask } = serviceIn({ rules: [twice] });
    for (const [agentId, verdict] of Object.entries({ first: 'ALLOW', second: 'ALLOW', third: 'BLOCK' })) {
      expect((await ask({ agentId, callId: agentId })).verdict).toBe(verdict);
    }
  });

  it('without an id is known by its request and arguments, or counted as another', async () => {
    const { ask } = serviceIn({ rules: [twice] });
    for (let i = 0; i < 3; i++) expect((await ask({ requestId: 'r1' })).verdict).toBe('ALLOW');
    expect((await ask({ requestId: 'r1', args: { q: 2 } })).verdict).toBe('ALLOW');
    expect((await ask()).verdict).toBe('BLOCK');
  });

  const perRun = twice;
  const perAgent = {
    ...twice,
    conditionConfig: { tools: ['*'], max: 2, per: 'agent', windowMinutes: 60 },
  };
  const reused = { callId: 'call_0' };

  it.each([
    ['in its run', perRun],
    ['in a window of its agent', perAgent],
  ])('is its id and its arguments, counted %s', async (_, rule) => {
    const { ask } = serviceIn({ rules: [rule] });
    const verdicts: string[] = [];
    for (let q = 0; q < 8; q++) verdicts.push((await ask({ ...reused, args: { q } })).verdict);
    expect(verdicts).toEqual(['ALLOW', 'ALLOW', ...Array.from({ length: 6 }, () => 'BLOCK')]);
    expect((await ask({ ...reused, args: { q: 0 } })).verdict).toBe('ALLOW');
    expect((await ask({ ...reused, args: { q: 0 }, tool: { name: 'other', tags: [] } })).verdict).toBe('BLOCK');
  });

  it.each([
    ['in its run', perRun],
    ['in a window of its agent', perAgent],
  ])('of the same id and arguments is another one after its end, counted %s', async (_, rule) => {
    const { ask, service } = serviceIn({ rules: [rule] });
    for (const verdict of ['ALLOW', 'ALLOW', 'BLOCK', 'BLOCK']) {
      expect((await ask(reused)).verdict).toBe(verdict);
      await service.drain();
      if (verdict === 'ALLOW') for (let n = 0; n < 2; n++) await ask({ ...reused, phase: 'tool.after', result: 'ok' });
      await service.drain();
    }
  });

  it.each([
    ['in its run', perRun],
    ['in a window of its agent', perAgent],
  ])('that was refused is counted when it is allowed after all, %s', async (_, rule) => {
    const forbidding = { conditionType: 'signal', conditionConfig: { key: 'k', operator: 'eq', value: 'no' } };
    const { ask, service } = serviceIn({ rules: [rule, { ...forbidding, actionType: 'block' }] });
    for (const args of [{ q: 1 }, { q: 2 }]) {
      expect((await ask({ ...reused, args, tags: { k: 'no' } })).verdict).toBe('BLOCK');
      await service.drain();
      expect((await ask({ ...reused, args })).verdict).toBe('ALLOW');
    }
    expect((await ask({ callId: 'another' })).verdict).toBe('BLOCK');
  });

  it('whose arguments a rule changed is another one after its end', async () => {
    const changing = { conditionType: 'tool_name', conditionConfig: { value: '*' }, actionType: 'modify_arguments' };
    const changes = { ...changing, actionConfig: { set: { q: 7 } } };
    const { ask, service, state } = serviceIn({ rules: [perRun, { ...perAgent, id: 'window' }, changes] });
    for (const verdict of ['ALLOW', 'ALLOW', 'BLOCK']) {
      expect((await ask(reused)).verdict).toBe(verdict);
      await service.drain();
      if (verdict === 'ALLOW') await ask({ ...reused, args: { q: 7 }, phase: 'tool.after', result: 'ok' });
      await service.drain();
    }
    const calls = await state.calls.read({ tenantId: 'acme', runId: 'run' });
    expect(calls.map(({ status }) => status)).toEqual(['completed', 'completed']);
  });

  it('reports what it used once, and the next one of its id again', async () => {
    const used = { conditionType: 'metric_window', actionType: 'block' };
    const config = { metric: 'sent', aggregate: 'sum', scope: 'agent', windowMinutes: 60, operator: 'gte', value: 2 };
    const { ask, service } = serviceIn({ rules: [{ ...used, conditionConfig: config }] });
    for (const verdict of ['ALLOW', 'ALLOW', 'BLOCK']) {
      expect((await ask(reused)).verdict).toBe(verdict);
      await service.drain();
      const report = { ...reused, phase: 'tool.after', result: 'ok', metrics: { sent: 1 } } as const;
      if (verdict === 'ALLOW') for (let n = 0; n < 2; n++) await ask(report);
      await service.drain();
    }
  });

  it('that is refused does not count', async () => {
    const { ask, service, state } = serviceIn({ rules: [twice, { ...named('rm'), actionType: 'block' }] });
    for (let i = 0; i < 5; i++) expect((await ask(call('rm'))).verdict).toBe('BLOCK');
    await service.drain();
    expect(await state.calls.read({ tenantId: 'acme', runId: 'run' })).toEqual([]);
    expect((await ask({ callId: 'a' })).verdict).toBe('ALLOW');
  });

  it('is the same call afterwards, with its result and duration', async () => {
    const { ask, service, state } = serviceIn({ rules: [twice] });
    await ask();
    await service.drain();
    await ask({ phase: 'tool.after', result: 'ok', metrics: { duration_ms: 12 } });
    expect(await state.calls.read({ tenantId: 'acme', runId: 'run' })).toMatchObject([
      { toolName: 'search', status: 'completed', durationMs: 12, resultHash: sha256Hex('"ok"') },
    ]);
  });
});

describe('bad input', () => {
  const argument = (fields: Record<string, unknown>) => ({
    conditionType: 'tool_argument',
    actionType: 'block',
    conditionConfig: fields,
  });

  it.each(['allow', 'block'] as const)(
    'of a size that was left out at the gateway is missing: %s',
    async (onMissing) => {
      const rule = { ...argument({ path: 'to', operator: 'contains', value: 'x' }), onMissing };
      const { ask } = serviceIn({ rules: [rule] });
      const unread = { args: { reason: 'too_large', sha256: 'abc' } } as const;
      const decision = await ask({ args: { to: null }, unread });
      expect(decision.verdict).toBe(onMissing === 'block' ? 'BLOCK' : 'ALLOW');
      expect(decision.bypasses).toEqual([{ ruleId: 'rule-0', why: 'missing', did: onMissing }]);
      expect(decision.inputsDigest).toBe('abc');
    },
  );

  it('made to hurt a pattern is matched in linear time', async () => {
    const { ask } = serviceIn({ rules: [argument({ path: 'q', operator: 'regex', value: '^(a+)+$' })] });
    const hostile = `${'a'.repeat(100_000)}!`;
    expect((await ask({ args: { q: hostile } })).verdict).toBe('ALLOW');
    expect((await ask({ args: { q: 'aaaa' } })).verdict).toBe('BLOCK');
  });

  it('of clocks that are wrong does not change what a run may do', async () => {
    const rule = { conditionType: 'max_calls', conditionConfig: { tools: ['*'], max: 3 }, actionType: 'block' };
    const { ask } = serviceIn({ rules: [rule] });
    for (const years of [0, 5, -5]) {
      const receivedAt = new Date(NOW + years * 31_536_000_000).toISOString();
      expect((await ask({ receivedAt })).verdict).toBe('ALLOW');
    }
    expect((await ask()).verdict).toBe('BLOCK');
  });
});

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

  it('open over the limit, at it not, and say nothing of its height', async () => {
    const { ask, recorded } = serviceIn({ limits: limits(4321) });
    const metrics = { llm_tokens_in: 4321 };
    expect((await ask({ metrics, callId: 'a' })).verdict).toBe('ALLOW');
    const decision = await ask({ metrics: { llm_tokens_out: 1 }, callId: 'b' });
    expect(decision).toMatchObject({ verdict: 'BLOCK', control: 'TERMINATE', cause: { kind: 'LOCKDOWN' } });
    expect(JSON.stringify(decision)).not.toContain('4321');
    expect(recorded).toMatchObject([{ state: { kind: 'open', reason: 'tokens' } }]);
  });

  it('count the model call that is asked for', async () => {
    const { ask } = serviceIn({ limits: limits(100) });
    const estimate = { tokens: 101, costUsd: 0 };
    expect((await ask({ phase: 'llm.before', tool: undefined, estimate })).verdict).toBe('BLOCK');
  });

  it('are not moved by metrics that are nonsense', async () => {
    const { ask } = serviceIn({ limits: limits(100) });
    const metrics = { llm_tokens_in: -5, llm_tokens_out: Number.POSITIVE_INFINITY, llm_cost_usd: Number.NaN };
    expect((await ask({ metrics })).verdict).toBe('ALLOW');
    expect((await ask()).verdict).toBe('ALLOW');
  });
});

describe('budgets', () => {
  const budget: Budget = {
    ...{ id: 'b', tenantId: 'acme', name: 'Pocket money', scope: 'run', period: 'total', limitUsd: 1, enabled: true },
    ...{ onUnavailable: 'allow', version: 1, createdAt: '', updatedAt: '' },
  };

  it('do not hold money for a call that a rule blocks', async () => {
    const { ask, state } = serviceIn({ budgets: [budget], rules: [{ ...named('rm'), actionType: 'block' }] });
    expect((await ask({ ...call('rm'), estimate: { tokens: 0, costUsd: 0.5 } })).finalRuleId).toBe('rule-0');
    const account = { budgetId: 'b', scopeId: 'run', periodStart: '1970-01-01', keptMs: 1 };
    expect(await state.budgets.balances('acme', [account], NOW)).toBeNull();
  });

  it('answer the retry of a call with the same reservation', async () => {
    const { ask } = serviceIn({ budgets: [budget] });
    const estimate = { tokens: 0, costUsd: 0.9 };
    const first = await ask({ callId: 'a', estimate });
    const second = await ask({ callId: 'a', estimate });
    expect(second.reservationId).toBe(first.reservationId);
    expect((await ask({ callId: 'b', estimate })).verdict).toBe('BLOCK');
  });

  it('hold every call of one id, and let none pass a budget that is spent', async () => {
    const { ask, state } = serviceIn({ budgets: [budget] });
    const costing = (costUsd: number, args = {}) =>
      ask({ callId: 'c1', phase: 'llm.before', tool: undefined, args, estimate: { tokens: 0, costUsd } });
    expect((await costing(0.1)).verdict).toBe('ALLOW');
    expect((await costing(5)).verdict).toBe('BLOCK');
    expect((await costing(0.5, { other: true })).verdict).toBe('ALLOW');
    expect((await costing(0.5, { third: true })).verdict).toBe('BLOCK');
    const account = { budgetId: 'b', scopeId: 'run', periodStart: '1970-01-01', keptMs: 1_000 };
    await state.budgets.spend('acme', [{ eventId: 'e', costUsd: 1, accounts: [account] }], NOW);
    expect((await costing(0, { last: true })).verdict).toBe('BLOCK');
  });

  it('have every call they refuse counted, by why, and no other', async () => {
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

  it('that could not be asked are counted where they are set to block', async () => {
    const careful = { ...budget, id: 'careful', onUnavailable: 'block' as const };
    const { ask, state, refusals } = serviceIn({ budgets: [budget, careful] });
    state.budgets.reserve = async () => {
      throw new StateUnavailable('away', new Error('away'));
    };
    await ask({ estimate: { tokens: 0, costUsd: 0.1 } });
    expect(refusals).toEqual([['careful', 'unavailable']]);
  });

  it('that are off hold nothing back', async () => {
    const { ask } = serviceIn({ budgets: [{ ...budget, enabled: false }] });
    expect(await ask({ estimate: { tokens: 0, costUsd: 50 } })).toMatchObject({ verdict: 'ALLOW' });
  });
});

describe('a run that goes on as somebody else', () => {
  const because = { id: 'order-1', scope: 'agent', reason: 'incident 7', since: '' } as const;
  const killed = (agentId: string): ControlState =>
    agentId === 'first' ? { kind: 'killed', because, modelOverride: null } : NONE;
  const asSecond = { agentId: 'second', startedAs: { agentId: 'first' } };

  it('is stopped by what was ordered for the agent that started it, and for the one that asks', async () => {
    const { ask } = serviceIn({ controlState: killed });
    expect(await ask(asSecond)).toMatchObject({ control: 'TERMINATE', cause: { lockdownId: 'order-1' } });
    expect((await ask({ agentId: 'first', startedAs: { agentId: 'second' } })).control).toBe('TERMINATE');
    expect((await ask({ agentId: 'second' })).verdict).toBe('ALLOW');
  });

  it('does not get past an approval by naming another agent', async () => {
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

  it('falls under the rules of both agents', async () => {
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

  it('is changed by the rules of both, and counted for both', async () => {
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

  it('has each of its calls in its history once, also where a call ends with other arguments', async () => {
    const twice = { conditionType: 'max_calls', conditionConfig: { tools: ['*'], max: 2 }, actionType: 'block' };
    const { ask, service } = serviceIn({ rules: [twice] });
    expect((await ask({ ...asSecond, callId: 'a' })).verdict).toBe('ALLOW');
    await ask({ ...asSecond, callId: 'a', args: { q: 2 }, phase: 'tool.after', result: 'ok' });
    await service.drain();
    expect((await ask({ ...asSecond, callId: 'b' })).verdict).toBe('ALLOW');
    expect((await ask({ ...asSecond, callId: 'c' })).verdict).toBe('BLOCK');
  });

  it('spends the budgets of both agents, end users and sessions, each once', async () => {
    const scopes = ['agent', 'actor', 'session', 'run'] as const;
    const budgets = scopes.map(
      (scope): Budget => ({
        ...{ id: scope, tenantId: 'acme', name: scope, scope, period: 'total', limitUsd: 1, enabled: true },
        ...{ onUnavailable: 'block', version: 1, createdAt: '', updatedAt: '' },
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

/** Approvals as the dispatcher keeps them, by the call they are for: good for the agent that was asked for, until spent. */
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
  /** As a gateway hands over a question of a run that `first` started for `ann`. */
  const asStarted = ({ agentId, actor }: { agentId: string; actor: string }) => ({
    ...{ agentId, actor: { externalId: actor } },
    startedAs: {
      ...(agentId === 'first' ? {} : { agentId: 'first' }),
      ...(actor === 'ann' ? {} : { actor: { externalId: 'ann' } }),
    },
  });

  it('holds: calls are counted as they were started, whoever is named and however ids are used again', async () => {
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

  it('holds: what was ordered stops a run, whoever it goes on as', async () => {
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

  it('holds: an approval covers the call that was asked for, whoever asks, once', async () => {
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

  it('holds: money is what was let through, out of the budgets of who started the run', async () => {
    const budgets = (['agent', 'actor'] as const).map(
      (scope): Budget => ({
        ...{ id: scope, tenantId: 'acme', name: scope, scope, period: 'total', limitUsd: 1, enabled: true },
        ...{ onUnavailable: 'block', version: 1, createdAt: '', updatedAt: '' },
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
          // Of several calls under one id the oldest ends: the cost is not known, so its estimate stands.
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
