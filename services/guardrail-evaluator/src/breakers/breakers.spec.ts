import { type AgentEvent, BreakerLimits } from '@agentlens/contracts';
import { joinTrees, NO_BREAKER_LIMITS } from '@agentlens/guardrails';
import { createMemoryState } from '@agentlens/state';
import { aBatch, anEvent } from '@agentlens/testing';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { BreakerFeeder } from './breaker-feeder.ts';
import type { RecordedChange } from './breaker-recorder.ts';
import { BreakerTransactions } from './breaker-transactions.ts';
import { agentLimits, isLimited, runLimits, type TenantLimits } from './limits.ts';
import { usageOfEvent } from './usage-of-event.ts';

const limitsOf = (fields: Partial<BreakerLimits>): BreakerLimits => BreakerLimits.parse(fields);
const tenantLimits = (fields: Partial<BreakerLimits>): TenantLimits => ({
  tenant: limitsOf(fields),
  agents: new Map(),
  runs: new Map(),
});

describe('limits', () => {
  const limits: TenantLimits = {
    tenant: limitsOf({ maxTokens: 1 }),
    agents: new Map([['a', limitsOf({ maxTokens: 2 })]]),
    runs: new Map([['r', limitsOf({ maxTokens: 3 })]]),
  };

  it('uses the limits of the run, then of its agent, then of its tenant, then the defaults', () => {
    expect(runLimits(limits, 'a', 'r').maxTokens).toBe(3);
    expect(runLimits(limits, 'a', 'x').maxTokens).toBe(2);
    expect(runLimits(limits, 'x', 'x').maxTokens).toBe(1);
    expect(runLimits(undefined, 'x', 'x').maxTokens).toBe(200_000);
  });

  it('applies no limits to a run if the tenant turned the default off', () => {
    const off = { agents: limits.agents, runs: limits.runs, defaultBreaker: 'off' } as const;
    expect(runLimits(off, 'x', 'x')).toBe(NO_BREAKER_LIMITS);
    expect(runLimits(off, 'a', 'x').maxTokens).toBe(2);
  });

  it('gives an agent no sum limits, and no limits by default', () => {
    expect(agentLimits(limits, 'a')).toMatchObject({ maxTokens: Number.POSITIVE_INFINITY, maxConsecutiveFailures: 10 });
    expect(agentLimits(undefined, 'a')).toBeNull();
    expect(isLimited({ agents: new Map(), runs: new Map() }, 'a', 'r')).toBe(false);
  });
});

describe('usage', () => {
  it.each<[string, Partial<AgentEvent>, unknown]>([
    [
      'a model call',
      { kind: 'llm.completed', usage: { inputTokens: 3, outputTokens: 4, costUsd: 0.1 } },
      { of: 'llm', iterations: 1, tokens: 7, costUsd: 0.1, outcome: 'success' },
    ],
    ['a failed tool', { kind: 'tool.completed', isError: true, toolName: 'x' }, { of: 'tool', outcome: 'failure' }],
    ['an error without a tool', { kind: 'error.raised', isError: true }, { outcome: 'failure' }],
    ['an error that repeats the one of its tool', { kind: 'error.raised', isError: true, toolName: 'x' }, null],
    ['a cost', { kind: 'cost.recorded', usage: { costUsd: 2, totalTokens: 9 } }, { costUsd: 2 }],
    ['confidence', { kind: 'custom.recorded', payload: { confidence: 0.4 } }, { confidence: 0.4 }],
    ['confidence that is not a number', { kind: 'custom.recorded', payload: { confidence: 'high' } }, null],
    ['a message', { kind: 'message.created' }, null],
  ])('of %s', (_, fields, used) => {
    expect(usageOfEvent(anEvent({ isError: false, payload: {}, metadata: {}, ...fields }))).toEqual(used);
  });
});

/** A feeder with an in-memory store. */
function feederWith(limits: TenantLimits | undefined) {
  const state = createMemoryState();
  const recorded: RecordedChange[] = [];
  const now = () => Date.parse('2026-03-01T12:00:00.000Z');
  const transactions = new BreakerTransactions({
    ...{ store: state.breakers, now, open: { of: () => undefined } },
    recorder: { record: (change) => recorded.push(change) },
  });
  const feeder = new BreakerFeeder({ transactions, store: state.breakers, limits: { of: () => limits }, now });
  const run = async (runId = 'run') => {
    const refs = [{ scope: 'run', scopeId: runId } as const];
    return (await state.breakers.read({ tenantId: 'acme', agentId: 'agent-1', refs })).breakers[0];
  };
  return { feeder, run, recorded, state };
}

const model = (fields: Partial<AgentEvent> = {}) =>
  anEvent({ kind: 'llm.completed', runId: 'run', usage: { totalTokens: 10, costUsd: 0.25 }, ...fields });

describe('feeding', () => {
  it('counts each event once, regardless of batches, order, repetition and concurrency', async () => {
    const deliveries = fc.array(fc.shuffledSubarray([0, 1, 2, 3, 4, 5, 6, 7], { minLength: 1 }), { maxLength: 8 });
    await fc.assert(
      fc.asyncProperty(deliveries, async (batches) => {
        const { feeder, run } = feederWith(tenantLimits({ maxIterations: 1_000 }));
        const events = [0, 1, 2, 3, 4, 5, 6, 7].map((n) => model({ id: `event-${n}` }));
        const all = [...batches, [0, 1, 2, 3, 4, 5, 6, 7]].map((indices) => indices.flatMap((n) => events[n] ?? []));
        await Promise.all(all.map((list) => feeder.count(aBatch({ events: list }))));
        expect((await run())?.breaker.usage).toMatchObject({ tokens: 80, iterations: 8, costUsd: 2 });
      }),
      { numRuns: 50 },
    );
  });

  it('counts an event once that appears twice in a batch', async () => {
    const { feeder, run } = feederWith(tenantLimits({}));
    const event = model({ id: 'same' });
    await feeder.count(aBatch({ events: [event, event] }));
    expect((await run())?.breaker.usage.iterations).toBe(1);
  });

  it('counts nothing for a tenant that neither asks for decisions nor sets limits', async () => {
    const { feeder, run } = feederWith(undefined);
    await feeder.count(aBatch({ events: [model()] }));
    expect((await run())?.revision).toBe(0);
  });

  it('counts for a tenant that asks for decisions and leaves opening to the next question', async () => {
    const { feeder, run, recorded, state } = feederWith(undefined);
    await state.breakers.watch('acme');
    await feeder.count(aBatch({ events: Array.from({ length: 50 }, () => model()) }));
    expect((await run())?.breaker).toMatchObject({ state: { kind: 'closed' }, usage: { iterations: 50 } });
    expect(recorded).toEqual([]);
  });

  it("opens once when the breaker of the run opens inside the agent, even if the tenant's events are not counted", async () => {
    const { feeder, run, recorded } = feederWith(undefined);
    const trippedEvent = (reason: string) =>
      anEvent({ runId: 'run', kind: 'custom.recorded', sourceType: 'breaker.tripped', payload: { reason } });
    await feeder.count(aBatch({ events: [trippedEvent('operator'), trippedEvent('nonsense')] }));
    expect((await run())?.breaker.state.kind).toBe('closed');
    const tripped = trippedEvent('iterations');
    await feeder.count(aBatch({ events: [model(), tripped] }));
    await feeder.count(aBatch({ events: [tripped] }));
    expect((await run())?.breaker).toMatchObject({
      state: { kind: 'open', reason: 'iterations' },
      usage: { iterations: 0 },
    });
    expect(recorded).toMatchObject([{ ref: { scope: 'run', scopeId: 'run' }, limit: 50 }]);
  });

  it.each<[string, Partial<BreakerLimits>, AgentEvent[]]>([
    ['cost', { maxCostUsd: 0.5 }, [model(), model(), model()]],
    ['tokens', { maxTokens: 20 }, [model(), model(), model()]],
    ['iterations', { maxIterations: 2 }, [model(), model(), model()]],
    [
      'failures',
      { maxConsecutiveFailures: 2 },
      [1, 2, 3].map(() => anEvent({ kind: 'tool.completed', runId: 'run', isError: true })),
    ],
    [
      'confidence',
      { maxConfidenceDrop: 0.2, confidenceWindow: 3 },
      [0.9, 0.7, 0.5].map((confidence) => model({ payload: { confidence } })),
    ],
  ])('opens on %s if limits are set, at the first event over the limit', async (reason, limits, events) => {
    const { feeder, run, recorded } = feederWith(tenantLimits(limits));
    await feeder.count(aBatch({ events: events.slice(0, 2) }));
    expect((await run())?.breaker.state.kind).toBe('closed');
    await feeder.count(aBatch({ events: events.slice(2) }));
    expect((await run())?.breaker.state).toMatchObject({ kind: 'open', reason });
    expect(recorded.find(({ ref }) => ref.scope === 'run')).toMatchObject({
      tenantId: 'acme',
      state: { kind: 'open' },
    });
  });
});

describe('breakers of run trees', () => {
  const tree = (fields: Partial<BreakerLimits>): TenantLimits => ({
    ...{
      tree: limitsOf({ maxIterations: 1_000, ...fields }),
      agents: new Map(),
      runs: new Map(),
      defaultBreaker: 'off',
    },
  });
  /** Everything counted in the breakers of trees. */
  const counted = async ({ state }: ReturnType<typeof feederWith>, runIds: readonly string[]) => {
    const refs = runIds.map((scopeId) => ({ scope: 'tree', scopeId }) as const);
    const { breakers } = await state.breakers.read({ tenantId: 'acme', agentId: 'agent-1', refs });
    return new Map(runIds.map((id, at) => [id, breakers[at]?.breaker]));
  };

  it('count the events of all runs and agents of the tree, each once', async () => {
    const world = feederWith(tree({}));
    const events = [
      model({ id: 'same', runId: 'root', agentId: 'lead' }),
      model({ id: 'same', runId: 'child', parentRunId: 'root', agentId: 'helper' }),
      model({ id: 'other', runId: 'grandchild', parentRunId: 'child', agentId: 'helper' }),
    ];
    await world.feeder.count(aBatch({ events }));
    await world.feeder.count(aBatch({ events: events.slice(1) }));
    expect((await counted(world, ['root'])).get('root')?.usage).toMatchObject({ iterations: 3, tokens: 30 });
  });

  it('open at the first event over the limit and name the agent that exceeded it', async () => {
    const world = feederWith(tree({ maxIterations: 2 }));
    await world.feeder.count(aBatch({ events: [model({ id: '1', runId: 'root', agentId: 'lead' })] }));
    const ofHelper = { runId: 'child', parentRunId: 'root', agentId: 'helper' };
    const events = [model({ id: '2', ...ofHelper }), model({ id: '3', ...ofHelper })];
    await world.feeder.count(aBatch({ events: events.slice(0, 1) }));
    expect(world.recorded).toEqual([]);
    await world.feeder.count(aBatch({ events: events.slice(1) }));
    expect(world.recorded).toMatchObject([
      { ref: { scope: 'tree', scopeId: 'root' }, agentId: 'helper', state: { kind: 'open' }, limit: 2 },
    ]);
  });

  it('lose and invent nothing, regardless of the order in which events arrive and parents become known', async () => {
    const RUNS = ['a', 'b', 'c', 'd', 'e', 'f'];
    const event = fc.record({
      runId: fc.constantFrom(...RUNS),
      parentRunId: fc.option(fc.constantFrom(...RUNS), { nil: undefined }),
    });
    const batches = fc.array(fc.array(event, { minLength: 1, maxLength: 4 }), { minLength: 1, maxLength: 6 });
    await fc.assert(
      fc.asyncProperty(batches, fc.boolean(), async (lists, atOnce) => {
        const world = feederWith(tree({}));
        let count = 0;
        const sent = lists.map((list) => aBatch({ events: list.map((one) => model({ id: `${count++}`, ...one })) }));
        if (atOnce) await Promise.all(sent.map((batch) => world.feeder.count(batch)));
        else for (const batch of sent) await world.feeder.count(batch);
        const breakers = await counted(world, RUNS);
        const usage = [...breakers.values()].map((one) => one?.usage);
        expect(usage.reduce((sum, one) => sum + (one?.iterations ?? 0), 0)).toBe(count);
        expect(usage.reduce((sum, one) => sum + (one?.costUsd ?? 0), 0)).toBeCloseTo(count / 4);
        for (const breaker of breakers.values())
          if (breaker?.joinedTo !== undefined) expect(breaker.usage.tokens).toBe(0);
        // What events named as one tree is counted in one place, wherever it is asked about.
        const known = new Map([...breakers].flatMap(([id, one]) => (one === undefined ? [] : [[id, one] as const])));
        const { rootOf } = joinTrees([], known);
        for (const { runId, parentRunId = runId } of lists.flat())
          expect(rootOf.get(runId)).toBe(rootOf.get(parentRunId));
      }),
      { numRuns: 300 },
    );
  });
});
