import {
  type AgentEvent,
  agentEvents,
  type BreakerChanged,
  breakerChanged,
  COMMANDS,
  type Decision,
  type DecisionRequest,
  decisionDecided,
} from '@agentlens/contracts';
import { aBatch, anEvent, eventually } from '@agentlens/testing';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { aQuestion, ask, told } from './asking.ts';
import { type Harness, openHarness } from './harness.ts';

let harness: Harness;
let tenantNumber = 0;
let tenantId = '';
const changes: BreakerChanged[] = [];
const published: Decision[] = [];

beforeAll(async () => {
  harness = await openHarness();
  await harness.bus.watch(breakerChanged, { from: 'new' }, ({ value }) => changes.push(value));
  await harness.bus.watch(decisionDecided, { from: 'new' }, ({ value }) => published.push(value));
}, 120_000);
afterAll(() => harness.close(), 60_000);

const running: { stop(): Promise<void> }[] = [];
afterEach(async () => {
  for (const replica of running.splice(0)) await replica.stop();
}, 60_000);

async function replica(change?: Parameters<Harness['replica']>[0]) {
  const started = await harness.replica(change);
  running.push(started);
  return started;
}

function newTenant(): string {
  tenantNumber += 1;
  tenantId = `deciding-${tenantNumber}`;
  return tenantId;
}

const asking = (fields: Partial<DecisionRequest> = {}) => ask(harness.bus, { tenantId, ...fields });
const limit = (scope: 'tenant' | 'agent' | 'run', scopeId: string, body: object) =>
  told(harness.bus.request(COMMANDS.setBreakerLimits, { tenantId, scope, scopeId, body }));
const event = (fields: Partial<AgentEvent> = {}) =>
  anEvent({ runId: 'run-1', occurredAt: new Date().toISOString(), ...fields });
const completed = (fields: Partial<AgentEvent> = {}) =>
  event({ kind: 'llm.completed', usage: { totalTokens: 100, costUsd: 0.5 }, ...fields });
const publish = (...events: AgentEvent[]) =>
  harness.bus.publish(agentEvents, aBatch({ tenantId, receivedAt: new Date().toISOString(), events }));
const runBreaker = async (runId = 'run-1', agentId = 'agent-1') => {
  const refs = [{ scope: 'run', scopeId: runId } as const];
  const { breakers } = await harness.state.breakers.read({ tenantId, agentId, refs });
  return breakers[0];
};
const budget = (body: object) =>
  told(
    harness.bus.request(COMMANDS.createBudget, {
      tenantId,
      body: { name: 'Money', scope: 'tenant', period: 'total', limitUsd: 1, ...body },
    }),
  );

/** Nothing is left to deliver: whatever was going to be counted is counted. */
async function settled(): Promise<void> {
  await eventually(
    async () => {
      const { pending, unacknowledged } = await harness.bus.lag(agentEvents, 'guardrail-evaluator');
      expect({ pending, unacknowledged }).toEqual({ pending: 0, unacknowledged: 0 });
    },
    { timeoutMs: 25_000 },
  );
}

describe('a decision', () => {
  it('about a run nobody has heard of is complete, and is published after it was answered', async () => {
    newTenant();
    await replica();
    const decision = await asking();
    expect(decision).toMatchObject({
      ...{ verdict: 'ALLOW', control: 'CONTINUE', effect: 'allow', cause: { kind: 'ALLOW' }, message: 'Allowed' },
      ...{ evaluatedRules: [], bypasses: [], toolName: 'search', runId: 'run-1' },
      inputsDigest: expect.stringMatching(/^[0-9a-f]{64}$/),
    });
    await eventually(() => expect(published.map(({ id }) => id)).toContain(decision.id));
  });

  it('is made by the rules of the tenant, on every replica, and a refused call is not counted', async () => {
    newTenant();
    const replicas = [await replica(), await replica()];
    const rule = await told(
      harness.bus.request(COMMANDS.createRule, {
        tenantId,
        body: {
          name: 'No deploys',
          conditionType: 'tool_name',
          conditionConfig: { operator: 'eq', value: 'deploy' },
          actionType: 'block',
        },
      }),
    );
    for (const { evaluator } of replicas)
      await eventually(() => expect(evaluator.rules.decisions.matching(question()).length).toBe(1));
    const answers = await Promise.all(Array.from({ length: 6 }, () => asking({ tool: { name: 'deploy', tags: [] } })));
    for (const answer of answers) {
      expect(answer).toMatchObject({ verdict: 'BLOCK', cause: { kind: 'RULE_VIOLATION', ruleId: rule.id } });
    }
    expect((await asking()).verdict).toBe('ALLOW');
  });
});

describe('two deciders at once', () => {
  const atMost = async (max: number) => {
    const body = {
      name: 'Few',
      conditionType: 'max_calls',
      conditionConfig: { tools: ['*'], max },
      actionType: 'block',
    };
    await told(harness.bus.request(COMMANDS.createRule, { tenantId, body }));
    return (evaluators: Awaited<ReturnType<typeof replica>>[]) =>
      eventually(() => {
        for (const { evaluator } of evaluators) expect(evaluator.rules.decisions.matching(question())).toHaveLength(1);
      });
  };
  const verdicts = async (callIds: readonly string[]) => {
    const answers = await Promise.all(callIds.map((callId) => asking({ callId, deadlineMs: 2_000 })));
    return answers.filter(({ verdict }) => verdict === 'ALLOW').length;
  };

  it('let exactly as many calls pass as the rule allows', async () => {
    newTenant();
    const replicas = [await replica(), await replica()];
    await (await atMost(5))(replicas);
    expect(await verdicts(Array.from({ length: 30 }, (_, n) => `call-${n}`))).toBe(5);
  });

  it('count a call once that is asked about at both', async () => {
    newTenant();
    const replicas = [await replica(), await replica()];
    await (await atMost(2))(replicas);
    expect(await verdicts(Array.from({ length: 20 }, () => 'same'))).toBe(20);
    expect(await verdicts(['second', 'third'])).toBe(1);
  });
});

const question = () => ({
  tenantId,
  agentId: 'agent-1',
  phase: 'tool.before' as const,
  tool: { name: 'deploy', tags: [] },
});

describe('the breaker of a run', () => {
  it('counts events once, however often and wherever they come again, also when the evaluator dies in between', async () => {
    newTenant();
    const sound = await replica();
    await limit('tenant', tenantId, { maxIterations: 100 });
    await sound.stop();
    running.splice(0);
    let deaths = 0;
    await replica(({ breakers }) => ({
      breakers: {
        read: breakers.read.bind(breakers),
        recorded: breakers.recorded.bind(breakers),
        watch: breakers.watch.bind(breakers),
        watched: breakers.watched.bind(breakers),
        write: async (...args) => {
          const written = await breakers.write(...args);
          deaths += 1;
          if (deaths === 1) throw new Error('killed after counting');
          return written;
        },
      },
    }));
    const events = [1, 2, 3].map((n) => completed({ id: `${tenantId}-${n}`, retryable: true }));
    await publish(...events);
    await settled();
    await publish(...events.toReversed());
    await publish(...events.slice(1), completed({ id: `${tenantId}-4` }));
    await settled();
    expect((await runBreaker())?.breaker.usage).toMatchObject({ tokens: 400, iterations: 4, costUsd: 2 });
    expect(deaths).toBeGreaterThan(1);
  });

  it('opens over its limit, not at it; is recorded and announced once, for others to tell people; and is reset', async () => {
    newTenant();
    const replicas = [await replica(), await replica()];
    await limit('run', 'run-1', { maxIterations: 2 });
    for (const { evaluator } of replicas) await evaluator.decisions.reload(tenantId);
    await publish(completed(), completed());
    await settled();
    expect((await asking({ phase: 'tool.before' })).verdict).toBe('ALLOW');
    const blocked = await asking({ phase: 'llm.before', tool: undefined });
    expect(blocked).toMatchObject({ verdict: 'BLOCK', control: 'TERMINATE', cause: { kind: 'LOCKDOWN' } });
    expect(blocked.message).toBe('The circuit breaker of this run is open: iterations');
    await Promise.all(Array.from({ length: 5 }, () => asking()));
    await eventually(() => expect(changes.filter((one) => one.tenantId === tenantId)).toHaveLength(1));
    const rows = await harness.database.db
      .selectFrom('circuit_breakers')
      .selectAll()
      .where('tenant_id', '=', tenantId)
      .execute();
    expect(rows).toMatchObject([{ scope: 'run', scope_id: 'run-1', state: { kind: 'open', reason: 'iterations' } }]);
    await told(harness.bus.request(COMMANDS.resetBreaker, { tenantId, scope: 'run', scopeId: 'run-1', by: 'ann' }));
    expect((await asking({ phase: 'llm.before', tool: undefined })).verdict).toBe('ALLOW');
    await eventually(() =>
      expect(changes.filter((one) => one.tenantId === tenantId).map(({ state }) => state.kind)).toEqual([
        'open',
        'closed',
      ]),
    );
  });

  it('lets one probe through of all replicas, and its success closes the breaker', async () => {
    newTenant();
    const replicas = [await replica(), await replica()];
    await limit('run', 'run-1', { maxIterations: 0, probeAfterSeconds: 1 });
    for (const { evaluator } of replicas) await evaluator.decisions.reload(tenantId);
    expect((await asking({ phase: 'llm.before', tool: undefined })).verdict).toBe('BLOCK');
    const calls = Array.from({ length: 8 }, (_, i) => `call-${i}`);
    const probe = await eventually(async () => {
      const answers = await Promise.all(calls.map((callId) => asking({ callId })));
      const allowed = answers.filter(({ verdict }) => verdict === 'ALLOW');
      expect(allowed).toHaveLength(1);
      return allowed[0];
    });
    expect((await asking({ callId: 'another' })).verdict).toBe('BLOCK');
    await publish(event({ kind: 'tool.completed', toolName: 'search', callId: probe?.callId }));
    await settled();
    expect((await runBreaker())?.breaker).toMatchObject({ state: { kind: 'closed' }, usage: { tokens: 0 } });
    expect((await asking({ callId: 'another' })).verdict).toBe('ALLOW');
  });

  it('takes the greater of what the agent says and what its events say, never both', async () => {
    newTenant();
    await replica();
    await limit('agent', 'agent-1', { maxTokens: 1_000, maxIterations: 100 });
    const metrics = { llm_tokens_in: 300, llm_tokens_out: 200 };
    expect((await asking({ metrics, callId: 'a' })).verdict).toBe('ALLOW');
    expect((await asking({ metrics, callId: 'a' })).verdict).toBe('ALLOW');
    await publish(completed({ usage: { totalTokens: 500 } }));
    await settled();
    expect((await asking({ metrics, callId: 'b' })).verdict).toBe('ALLOW');
    expect((await asking({ metrics: { llm_tokens_in: 1 }, callId: 'c' })).message).toMatch(/open: tokens/);
  });

  it('by default stops a run that asks, and leaves alone those who never do', async () => {
    newTenant();
    await replica();
    await publish(...Array.from({ length: 12 }, () => completed({ runId: 'silent' })));
    await settled();
    await asking();
    await eventually(async () => {
      await publish(completed());
      await settled();
      expect((await runBreaker())?.breaker.usage.iterations).toBeGreaterThan(0);
    });
    await publish(...Array.from({ length: 12 }, () => completed()));
    await publish(...Array.from({ length: 12 }, () => completed({ runId: 'silent' })));
    await settled();
    expect((await runBreaker('silent'))?.breaker.state.kind).toBe('closed');
    expect((await asking()).message).toMatch(/open: iterations/);
    expect(changes.filter((one) => one.tenantId === tenantId).map(({ scopeId }) => scopeId)).not.toContain('silent');
  });

  it('is open again from the record after Redis lost everything', async () => {
    newTenant();
    await replica();
    await limit('tenant', tenantId, { maxIterations: 0 });
    await asking({ phase: 'llm.before', tool: undefined });
    await eventually(() => expect(changes.filter((one) => one.tenantId === tenantId)).toHaveLength(1));
    await harness.flushRedis();
    await eventually(async () => expect((await asking()).message).toMatch(/open: iterations/));
  });

  it('of an agent opens on failures in a row over its runs, where limits are set', async () => {
    newTenant();
    await replica();
    await limit('agent', 'agent-1', { maxConsecutiveFailures: 2, maxIterations: 0, maxConfidenceDrop: null });
    const failing = (n: number) =>
      event({ kind: 'tool.completed', toolName: 'x', isError: true, runId: `other-${n}`, severity: 'error' });
    await publish(failing(1), failing(2));
    await settled();
    expect((await asking()).verdict).toBe('ALLOW');
    await publish(failing(3));
    await settled();
    expect((await asking()).message).toBe('The circuit breaker of this agent is open: failures');
  });

  it('refuses limits that make no sense, and resets of runs nobody knows', async () => {
    newTenant();
    await replica();
    const set = (body: unknown) =>
      harness.bus.request(COMMANDS.setBreakerLimits, { tenantId, scope: 'run', scopeId: 'run-1', body });
    expect(await set({ maxTokens: -1 })).toMatchObject({
      ok: false,
      problem: { status: 400, details: [{ path: 'maxTokens' }] },
    });
    expect(await set({ maxTokns: 1 })).toMatchObject({ ok: false, problem: { status: 400 } });
    expect(
      await harness.bus.request(COMMANDS.resetBreaker, { tenantId, scope: 'run', scopeId: 'nobody', by: 'ann' }),
    ).toMatchObject({ ok: false, problem: { status: 404 } });
  });
});

describe('a budget', () => {
  const reserve = (costUsd: number, fields: Partial<DecisionRequest> = {}) =>
    asking({ phase: 'llm.before', tool: undefined, estimate: { tokens: 10, costUsd }, ...fields });
  const spent = async ({ id: budgetId }: { id: string }, scopeId = tenantId) => {
    const account = { budgetId, scopeId, periodStart: '1970-01-01', keptMs: 1_000_000 };
    return (await harness.state.budgets.standing(tenantId, [account], Date.now()))?.[0];
  };

  it('holds an estimate, and the event of the same call settles it, once', async () => {
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
    const done = completed({ callId: 'call', usage: { costUsd: 0.25 } });
    await publish(done);
    await publish(done);
    await settled();
    expect(await spent(money)).toEqual({ spentUsd: 0.25, heldUsd: 0 });
    expect((await reserve(0.75, { callId: 'other' })).verdict).toBe('ALLOW');
    expect((await asking()).verdict).toBe('ALLOW');
  });

  it('that is spent stops every call under it, and says nothing of its size', async () => {
    newTenant();
    await replica();
    await budget({ name: 'Per run', scope: 'run', limitUsd: 1.2345 });
    await publish(completed({ usage: { costUsd: 1.3 } }));
    await settled();
    const decision = await asking();
    expect(decision).toMatchObject({ verdict: 'BLOCK', control: 'CONTINUE', message: 'The budget "Per run" is spent' });
    expect(JSON.stringify(decision)).not.toContain('1.2345');
    expect((await asking({ runId: 'run-2' })).verdict).toBe('ALLOW');
  });

  it('is in the ledger, and is what it was after Redis lost everything', async () => {
    newTenant();
    const { evaluator } = await replica();
    const money = await budget({ scope: 'agent', limitUsd: 2 });
    const { reservationId = '' } = await reserve(1, { callId: 'call' });
    await publish(completed({ usage: { costUsd: 0.7 } }));
    await told(harness.bus.request(COMMANDS.settleReservation, { tenantId, reservationId, costUsd: 0.4 }));
    await settled();
    await evaluator.decisions.ledger.flush();
    const rows = await harness.database.db
      .selectFrom('budget_ledger')
      .select(['cost_usd', 'estimate_usd'])
      .where('tenant_id', '=', tenantId)
      .orderBy('cost_usd')
      .execute();
    expect(rows).toEqual([
      { cost_usd: 0.4, estimate_usd: 1 },
      { cost_usd: 0.7, estimate_usd: 0 },
    ]);
    await harness.flushRedis();
    await asking();
    expect(await spent(money, 'agent-1')).toEqual({ spentUsd: 1.1, heldUsd: 0 });
    expect((await reserve(0.91)).verdict).toBe('BLOCK');
    expect((await reserve(0.9)).verdict).toBe('ALLOW');
  });

  it('is overshot by 500 callers at once by no more than their estimates were wrong, and refuses none while money is left', async () => {
    newTenant();
    const replicas = [await replica(), await replica()];
    const money = await budget({ limitUsd: 4 });
    for (const { evaluator } of replicas) await evaluator.decisions.reload(tenantId);
    const patient = { ...COMMANDS.decide, deadlineMs: 30_000 };
    const estimate = { tokens: 0, costUsd: 0.01 };
    const caller = (n: number) => ({ tenantId, estimate, callId: `call-${n}`, deadlineMs: 30_000 });
    const answers = await Promise.all(
      Array.from({ length: 500 }, (_, n) => told(harness.bus.request(patient, aQuestion(caller(n))))),
    );
    const allowed = answers.filter(({ verdict }) => verdict === 'ALLOW');
    expect(allowed).toHaveLength(400);
    expect(await spent(money)).toEqual({ spentUsd: 0, heldUsd: 4 });
    // Every call costs 20 % more than it was thought to.
    await publish(...allowed.map(({ callId }) => completed({ callId, usage: { costUsd: 0.012 } })));
    await settled();
    expect(await spent(money)).toEqual({ spentUsd: 4.8, heldUsd: 0 });
  }, 60_000);

  it('tells what is spent, reserved and left, and of whom', async () => {
    newTenant();
    const { evaluator } = await replica();
    const standing = (scopeId?: string) =>
      harness.bus.request(COMMANDS.budgetStanding, { tenantId, budgetId: money.id, scopeId });
    const money = await budget({ scope: 'agent', limitUsd: 2, period: 'day' });
    expect(await told(standing())).toMatchObject({ budget: { id: money.id }, pots: [] });
    await publish(completed({ usage: { costUsd: 0.7 } }), completed({ agentId: 'agent-2', usage: { costUsd: 2.5 } }));
    await settled();
    await reserve(0.4, { callId: 'call' });
    await evaluator.decisions.ledger.flush();
    const periodStart = new Date().toISOString().slice(0, 10);
    const pot = { scopeId: 'agent-1', periodStart, spentUsd: 0.7, reservedUsd: 0.4, remainingUsd: 0.9 };
    const overdrawn = { scopeId: 'agent-2', periodStart, spentUsd: 2.5, reservedUsd: 0, remainingUsd: 0 };
    expect((await told(standing())).pots).toEqual([overdrawn, pot]);
    expect((await told(standing('agent-1'))).pots).toEqual([pot]);
    const unknown = { tenantId, budgetId: 'nobody' };
    expect(await harness.bus.request(COMMANDS.budgetStanding, unknown)).toMatchObject({ problem: { status: 404 } });
  });

  it('of an end user is his alone', async () => {
    newTenant();
    await replica();
    await budget({ scope: 'actor', limitUsd: 1 });
    await publish(completed({ metadata: { actorExternalId: 'ann' }, usage: { costUsd: 1 } }));
    await settled();
    expect((await asking({ actor: { externalId: 'ann' } })).verdict).toBe('BLOCK');
    expect((await asking({ actor: { externalId: 'bob' } })).verdict).toBe('ALLOW');
    expect((await asking()).verdict).toBe('ALLOW');
  });

  it('of a session is shared by its runs, also where only their events tell the session', async () => {
    newTenant();
    await replica();
    await budget({ scope: 'session', limitUsd: 1 });
    await publish(completed({ runId: 'run-1', sessionId: 'talk', usage: { costUsd: 1 } }));
    await publish(event({ kind: 'run.started', runId: 'run-2', sessionId: 'talk' }));
    await settled();
    for (const runId of ['run-1', 'run-2']) expect((await asking({ runId })).verdict).toBe('BLOCK');
    expect((await asking({ runId: 'run-3', sessionId: 'talk' })).verdict).toBe('BLOCK');
    expect((await asking({ runId: 'run-3' })).verdict).toBe('ALLOW');
  });

  it('no longer holds once it is deleted', async () => {
    newTenant();
    await replica();
    const money = await budget({ limitUsd: 0.01 });
    await publish(completed({ usage: { costUsd: 1 } }));
    await settled();
    expect((await asking()).verdict).toBe('BLOCK');
    await told(harness.bus.request(COMMANDS.deleteBudget, { tenantId, budgetId: money.id }));
    expect((await asking()).verdict).toBe('ALLOW');
    const again = await harness.bus.request(COMMANDS.deleteBudget, { tenantId, budgetId: money.id });
    expect(again).toMatchObject({ ok: false, problem: { status: 404 } });
  });

  it.each([
    [{ limitUsd: 0 }, 'limitUsd'],
    [{ scope: 'planet' }, 'scope'],
    [{ scope: 'tenant', scopeId: 'x' }, 'scopeId'],
    [{ period: 'hour' }, 'period'],
    [{ name: '' }, 'name'],
    [{ limit: 5 }, ''],
  ])('is refused with %j', async (body, path) => {
    newTenant();
    await replica();
    const draft = { name: 'Money', scope: 'tenant', period: 'total', limitUsd: 1, ...body };
    const answer = await harness.bus.request(COMMANDS.createBudget, { tenantId, body: draft });
    expect(answer).toMatchObject({ ok: false, problem: { status: 400, details: [{ path }] } });
  });
});

describe('a restart of every process in the middle of a run', () => {
  it('loses neither its calls nor what it spent nor its breaker', async () => {
    newTenant();
    const before = await replica();
    await limit('run', 'run-1', { maxTokens: 1_000, maxIterations: 100 });
    const money = await budget({ scope: 'run', limitUsd: 1 });
    await told(
      harness.bus.request(COMMANDS.createRule, {
        tenantId,
        body: {
          name: 'Twice is enough',
          conditionType: 'max_calls',
          conditionConfig: { tools: ['search'], max: 2 },
          actionType: 'block',
        },
      }),
    );
    await publish(completed({ usage: { totalTokens: 900, costUsd: 0.6 } }));
    await settled();
    expect((await asking({ callId: '1' })).verdict).toBe('ALLOW');
    expect((await asking({ callId: '1' })).verdict).toBe('ALLOW');
    expect((await asking({ callId: '2' })).verdict).toBe('ALLOW');
    await before.stop();
    running.splice(0);

    await replica();
    expect(await asking({ callId: '2' })).toMatchObject({ verdict: 'ALLOW' });
    expect(await asking({ callId: '3' })).toMatchObject({
      verdict: 'BLOCK',
      message: expect.stringContaining('Twice'),
    });
    const llm = { phase: 'llm.before', tool: undefined } as const;
    expect(await asking({ ...llm, estimate: { tokens: 1, costUsd: 0.5 } })).toMatchObject({
      cause: { kind: 'RULE_VIOLATION', ruleId: money.id },
    });
    await publish(completed({ usage: { totalTokens: 101, costUsd: 0 } }));
    await settled();
    // The broker may not yet count what was only just published: settled then means settled before.
    await eventually(async () =>
      expect((await asking({ tool: { name: 'read', tags: [] } })).message).toMatch(/open: tokens/),
    );
  });
});
