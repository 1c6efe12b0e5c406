import type { AgentEvent } from '@agentlens/contracts';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { ledgerOf } from './ledger.ts';
import { statusOf } from './run.ts';
import { picoUsd } from './run-totals.ts';

const NOON = Date.parse('2026-03-01T12:00:00.000Z');

function event(fields: Partial<AgentEvent> = {}): AgentEvent {
  return {
    id: 'e',
    agentId: 'a',
    runId: 'r',
    kind: 'custom.recorded',
    dialect: 'agentlens',
    sourceType: 'custom',
    severity: 'info',
    isError: false,
    occurredAt: '2026-03-01T12:00:00.000Z',
    retryable: true,
    hash: 'h',
    payload: {},
    metadata: {},
    ...fields,
  };
}

const anyEvent = fc
  .record({
    agentId: fc.constantFrom('a', 'b'),
    runId: fc.constantFrom('r1', 'r2', 'r3'),
    kind: fc.constantFrom(
      'run.started',
      'run.ended',
      'tool.called',
      'tool.completed',
      'llm.called',
      'agent.registered',
      'custom.recorded',
    ),
    dialect: fc.constantFrom('agentlens', 'handlebar', 'otlp'),
    actorId: fc.constantFrom(undefined, 'cleo'),
    payload: fc.record(
      {
        actor: fc.constantFrom({ externalId: 'ann' }, { externalId: 'ben', name: 'Ben' }),
        tags: fc.oneof(
          fc.dictionary(fc.constantFrom('team', 'Env'), fc.constantFrom('a', 'B')),
          fc.subarray(['x', 'y']),
        ),
        runTtlMs: fc.constantFrom(1_000, 2_000),
        by: fc.constantFrom('root', 'agent', 'root_agent'),
        result: fc.constantFrom('fine', null, { n: 1 }),
        error: fc.constantFrom('broken', { message: 'broken again' }),
        tools: fc.array(fc.record({ name: fc.constantFrom('search', 'pay'), version: fc.nat({ max: 3 }) })),
      },
      { requiredKeys: [] },
    ),
    isError: fc.boolean(),
    at: fc.integer({ min: -200_000_000, max: 200_000_000 }),
    outcome: fc.constantFrom(undefined, 'succeeded', 'failed', 'cancelled'),
    agentName: fc.constantFrom(undefined, 'Ann', 'Ben'),
    model: fc.constantFrom(undefined, 'small', 'large'),
    sessionId: fc.constantFrom(undefined, 's', 't'),
    cost: fc.double({ min: 0, max: 10, noNaN: true }),
    tags: fc.subarray(['x', 'y', 'z']),
  })
  .map(({ at, cost, ...rest }) => ({
    ...rest,
    occurredAt: new Date(NOON + at).toISOString(),
    usage: { costUsd: cost, inputTokens: 3 },
  }));
const anyEvents = fc
  .array(anyEvent, { minLength: 1, maxLength: 30 })
  .map((list) => list.map((fields, i) => event({ ...(fields as Partial<AgentEvent>), id: `e${i}` })));

describe('ledger', () => {
  it('is the same for any order and duplication of its events', () => {
    const shuffled = anyEvents.chain((events) =>
      fc.tuple(
        fc.constant(events),
        fc.shuffledSubarray([...events, ...events, ...events], { minLength: events.length * 3 }),
      ),
    );

    fc.assert(
      fc.property(shuffled, ([events, again]) => {
        const sorted = (ledger: ReturnType<typeof ledgerOf>) =>
          [ledger.runs, ledger.agents, ledger.days].map((map) => [...map].sort(([a], [b]) => (a < b ? -1 : 1)));
        expect(sorted(ledgerOf(again))).toEqual(sorted(ledgerOf(events)));
      }),
      { numRuns: 200 },
    );
  });

  it('attributes every event, error, run and cent exactly once', () => {
    fc.assert(
      fc.property(anyEvents, (events) => {
        const { runs, agents, days } = ledgerOf(events);
        const costOf = (some: readonly AgentEvent[]) =>
          some.reduce((sum, { usage }) => sum + picoUsd(usage?.costUsd ?? 0), 0n);
        const ofRuns = events.filter(({ kind }) => kind !== 'agent.registered');
        for (const part of [runs, agents, days]) {
          const counted = part === runs ? ofRuns : events;
          expect([...part.values()].reduce((sum, { totals }) => sum + totals.events, 0)).toBe(counted.length);
          expect([...part.values()].reduce((sum, { totals }) => sum + totals.picoUsd, 0n)).toBe(costOf(counted));
        }
        expect([...days.values()].reduce((sum, day) => sum + day.runs, 0)).toBe(runs.size);
        expect([...agents.values()].reduce((sum, agent) => sum + agent.runs, 0)).toBe(runs.size);
        expect([...days.values()].reduce((sum, day) => sum + day.runPicoUsd, 0n)).toBe(costOf(ofRuns));
      }),
      { numRuns: 200 },
    );
  });
});

describe('end of a run', () => {
  const ended = (outcome: AgentEvent['outcome'], second: number, id = 'x') =>
    event({ id, kind: 'run.ended', outcome, occurredAt: `2026-03-01T12:00:0${second}.000Z` });
  const statusAfter = (...events: AgentEvent[]) => {
    const run = ledgerOf(events).runs.get('r');
    return run === undefined ? undefined : statusOf(run);
  };

  it.each(['succeeded', 'failed', 'timed_out', 'cancelled', 'interrupted'] as const)(
    'is %s if the run reports it',
    (word) => {
      expect(statusAfter(event(), ended(word, 1))).toBe(word);
    },
  );

  it('is set by the latest report, even if that arrives first', () => {
    expect(statusAfter(ended('failed', 5, 'b'), ended('succeeded', 2, 'a'))).toBe('failed');
    expect(statusAfter(ended('failed', 2, 'b'), ended('succeeded', 2, 'a'))).toBe('failed');
  });

  it('is not undone by later events', () => {
    expect(statusAfter(ended('succeeded', 1), event({ occurredAt: '2026-03-01T13:00:00.000Z' }))).toBe('succeeded');
  });

  it('without an outcome is a failure if the event is an error', () => {
    expect(statusAfter(ended(undefined, 1))).toBe('succeeded');
    expect(statusAfter({ ...ended(undefined, 1), isError: true })).toBe('failed');
  });

  it('is unknown until it is reported', () => {
    expect(statusAfter(event())).toBe('running');
  });
});

describe('end of a run of spans', () => {
  const ended = (by: string, outcome: AgentEvent['outcome'], second: number) =>
    event({
      id: `${by}${second}`,
      dialect: 'otlp',
      kind: 'run.ended',
      outcome,
      payload: { by },
      occurredAt: `2026-03-01T12:00:0${second}.000Z`,
    });
  const runOf = (...events: AgentEvent[]) => ledgerOf(events).runs.get('r');
  const statusAfter = (...events: AgentEvent[]) => {
    const run = runOf(...events);
    return run === undefined ? undefined : statusOf(run);
  };

  it('is unknown while only an agent inside it has ended', () => {
    expect(statusAfter(ended('agent', 'succeeded', 1))).toBe('running');
    expect(runOf(ended('agent', 'succeeded', 1))?.agentEnd?.value).toBe('succeeded');
  });

  it('is a failure if the root failed, or the agent below a successful root', () => {
    expect(statusAfter(ended('agent', 'succeeded', 1), ended('root', 'failed', 2))).toBe('failed');
    expect(statusAfter(ended('agent', 'failed', 1), ended('root', 'succeeded', 2))).toBe('failed');
  });

  it('is a success if an agent recovered from the failure of one inside it', () => {
    expect(statusAfter(ended('agent', 'failed', 1), ended('root_agent', 'succeeded', 3))).toBe('succeeded');
    expect(
      statusAfter(ended('agent', 'failed', 1), ended('agent', 'succeeded', 2), ended('root', 'succeeded', 3)),
    ).toBe('succeeded');
  });

  it('does not depend on similar events of another dialect', () => {
    expect(statusAfter({ ...ended('agent', 'succeeded', 1), dialect: 'agentlens' })).toBe('succeeded');
  });

  it('is expected for a silent run too, because every span promises another', () => {
    expect(runOf(event({ dialect: 'otlp' }))?.heartbeatEveryMs).toBe(600_000);
    expect(runOf(event())?.heartbeatEveryMs).toBeUndefined();
  });
});

describe('context from the start of a run', () => {
  const started = (payload: AgentEvent['payload'], id = 'x') => event({ id, kind: 'run.started', payload });
  const runOf = (...events: AgentEvent[]) => ledgerOf(events).runs.get('r');

  it('is read from the payload in either dialect', () => {
    const actor = { externalId: 'ann', name: 'Ann', metadata: { tier: 'gold' } };
    const run = runOf(
      started({ actor, tags: { team: 'blue' }, runTtlMs: 60_000, heartbeatEveryMs: 5_000, parentRunId: 'p' }),
    );
    expect(run).toMatchObject({ runTags: { team: 'blue' }, ttlMs: 60_000, heartbeatEveryMs: 5_000 });
    expect(run?.parent?.value.runId).toBe('p');
    expect(run?.actor?.value).toEqual(actor);
  });

  it('takes the parent and its call from the first event that names a parent, in any order', () => {
    const named = (parentRunId: string, minute: number) => ({
      ...started({ parentRunId, parentToolUseId: `call of ${parentRunId}` }, parentRunId),
      occurredAt: `2026-03-01T12:0${minute}:00.000Z`,
    });
    const events = [started({}), named('z-first', 1), named('a-later', 2)];
    for (const order of [events, events.toReversed()])
      expect(runOf(...order)?.parent?.value).toEqual({ runId: 'z-first', toolUseId: 'call of z-first' });
  });

  it('keeps the first actor, the longest intervals and all tags of several starts', () => {
    const one = started({ actor: { externalId: 'ann' }, tags: { a: '1' }, runTtlMs: 1_000 }, 'x');
    const two = started({ actor: { externalId: 'ben' }, tags: { a: '2', b: '1' }, runTtlMs: 2_000 }, 'y');
    const run = runOf(two, one);
    expect(run).toMatchObject({ runTags: { a: '2', b: '1' }, ttlMs: 2_000 });
    expect(run?.actor?.value.externalId).toBe('ann');
  });

  it.each([
    [{ actor: 'ann' }],
    [{ actor: { externalId: 7 } }],
    [{ actor: { externalId: '' } }],
    [{ actor: { externalId: 'x'.repeat(257) } }],
    [{ runTtlMs: -1 }],
    [{ runTtlMs: 1e300 }],
    [{ runTtlMs: '60' }],
    [{ tags: ['x'] }],
  ])('ignores invalid values: %j', (payload) => {
    const run = runOf(started(payload));
    expect([run?.actor, run?.ttlMs, run?.runTags]).toEqual([undefined, undefined, {}]);
  });

  it('takes the actor from any event in a dialect without starts', () => {
    expect(runOf(event({ actorId: 'ann' }))?.actor?.value).toEqual({ externalId: 'ann' });
  });

  it('is not read from other events', () => {
    expect(runOf(event({ payload: { runTtlMs: 5, actor: { externalId: 'ann' } } }))?.ttlMs).toBeUndefined();
  });
});

describe('result of a run', () => {
  const ended = (payload: AgentEvent['payload'], second = 1) =>
    event({ id: `e${second}`, kind: 'run.ended', payload, occurredAt: `2026-03-01T12:00:0${second}.000Z` });
  const runOf = (...events: AgentEvent[]) => ledgerOf(events).runs.get('r');

  it.each([
    [{ result: { answer: 42 } }, { answer: 42 }],
    [{ summary: 'done' }, 'done'],
    [{ result: null, summary: 'done' }, 'done'],
    [{}, undefined],
  ])('is read from %j', (payload, result) => {
    expect(runOf(ended(payload))?.result?.value).toEqual(result);
  });

  it.each([
    [{ error: 'broken' }, 'broken'],
    [{ error: { message: 'broken', code: 7 } }, 'broken'],
    [{ error: { code: 7 } }, undefined],
    [{ error: '😀'.repeat(2_001) }, '😀'.repeat(2_000)],
  ])('contains the error of %j', (payload, message) => {
    expect(runOf(ended(payload))?.errorMessage?.value).toBe(message);
  });

  it('combines two reports of the end', () => {
    const run = runOf(ended({ result: 'fine' }, 1), ended({ totalSteps: 2 }, 2));
    expect(run?.result?.value).toBe('fine');
  });
});

describe('calls', () => {
  const kinds = ['tool.called', 'tool.completed', 'llm.called', 'llm.completed'] as const;

  it.each(['agentlens', 'handlebar', 'otlp'])('of %s count once, and a step is a tool call that ended', (dialect) => {
    const events = kinds.map((kind) => event({ id: kind, kind, dialect }));
    expect(ledgerOf(events).runs.get('r')?.totals).toMatchObject({ toolCalls: 1, llmCalls: 1, steps: 1 });
  });
});

describe('model calls', () => {
  it.each(['agentlens', 'handlebar', 'otlp'])('of %s count where only their answers are reported', (dialect) => {
    const usage = { totalTokens: 900, costUsd: 0.5 };
    const events = ['a', 'b'].map((id) => event({ id, kind: 'llm.completed', dialect, usage }));
    const totals = ledgerOf(events).runs.get('r')?.totals;
    expect(totals).toMatchObject({ llmCalls: 2, totalTokens: 1_800, picoUsd: 10n ** 12n });
  });
});

describe('a registration', () => {
  const registered = (payload: AgentEvent['payload'], second: number) =>
    event({ id: `e${second}`, kind: 'agent.registered', payload, occurredAt: `2026-03-01T12:00:0${second}.000Z` });

  it('belongs to an agent and not to a run', () => {
    const { runs, agents } = ledgerOf([registered({ slug: 'support' }, 1)]);
    expect(runs.size).toBe(0);
    expect(agents.get('a')).toMatchObject({ runs: 0, registration: { slug: 'support' } });
  });

  it('replaces values that it names, keeps others, and adds tools by name', () => {
    const agent = ledgerOf([
      registered({ description: 'new', tools: [{ name: 'pay', version: 2 }, { name: 'scan' }] }, 5),
      registered({ description: 'old', tags: ['x'], tools: [{ name: 'pay', version: 1 }, { name: 'ask' }] }, 1),
    ]).agents.get('a');
    expect(agent?.registration.description?.value).toBe('new');
    expect(agent?.registration.tags?.value).toEqual(['x']);
    const tools = [...(agent?.registration.tools.values() ?? [])].map(({ value }) => value);
    expect(tools).toEqual([{ name: 'ask' }, { name: 'pay', version: 2 }, { name: 'scan' }]);
  });
});
