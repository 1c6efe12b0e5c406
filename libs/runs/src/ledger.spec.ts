import type { AgentEvent } from '@agentlens/contracts';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { ledgerOf } from './ledger.ts';
import { microUsd, usdOf } from './money.ts';
import { statusOf } from './run.ts';

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
    kind: fc.constantFrom('run.started', 'run.ended', 'tool.called', 'tool.completed', 'llm.called', 'custom.recorded'),
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
  it('is the same for any order and any duplication of its events', () => {
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
        const cost = events.reduce((sum, { usage }) => sum + microUsd(usage?.costUsd ?? 0), 0);
        for (const part of [runs, agents, days]) {
          expect([...part.values()].reduce((sum, { totals }) => sum + totals.events, 0)).toBe(events.length);
          expect([...part.values()].reduce((sum, { totals }) => sum + totals.microUsd, 0)).toBe(cost);
        }
        expect([...days.values()].reduce((sum, day) => sum + day.runs, 0)).toBe(runs.size);
        expect([...agents.values()].reduce((sum, agent) => sum + agent.runs, 0)).toBe(runs.size);
        expect([...days.values()].reduce((sum, day) => sum + day.runMicroUsd, 0)).toBe(cost);
      }),
      { numRuns: 200 },
    );
  });
});

describe('the end of a run', () => {
  const ended = (outcome: AgentEvent['outcome'], second: number, id = 'x') =>
    event({ id, kind: 'run.ended', outcome, occurredAt: `2026-03-01T12:00:0${second}.000Z` });
  const statusAfter = (...events: AgentEvent[]) => {
    const run = ledgerOf(events).runs.get('r');
    return run === undefined ? undefined : statusOf(run);
  };

  it.each(['succeeded', 'failed', 'timed_out', 'cancelled', 'interrupted'] as const)(
    'is %s when it says so',
    (word) => {
      expect(statusAfter(event(), ended(word, 1))).toBe(word);
    },
  );

  it('is decided by the latest report, also when that one arrives first', () => {
    expect(statusAfter(ended('failed', 5, 'b'), ended('succeeded', 2, 'a'))).toBe('failed');
    expect(statusAfter(ended('failed', 2, 'b'), ended('succeeded', 2, 'a'))).toBe('failed');
  });

  it('is not undone by events that happened later', () => {
    expect(statusAfter(ended('succeeded', 1), event({ occurredAt: '2026-03-01T13:00:00.000Z' }))).toBe('succeeded');
  });

  it('without an outcome is a failure if it is an error', () => {
    expect(statusAfter(ended(undefined, 1))).toBe('succeeded');
    expect(statusAfter({ ...ended(undefined, 1), isError: true })).toBe('failed');
  });

  it('has not come while nothing reports it', () => {
    expect(statusAfter(event())).toBe('running');
  });
});

describe('money', () => {
  it.each([
    [0, 0],
    [0.1, 100_000],
    [1.0000005, 1_000_001],
    [5e-7, 1],
    [4e-7, 0],
    [1e-20, 0],
    [12345.678901, 12_345_678_901],
  ])('%d USD are %d millionths', (usd, micro) => {
    expect(microUsd(usd)).toBe(micro);
  });

  it('adds up without drifting', () => {
    const micro = Array.from({ length: 10_000 }, () => microUsd(0.1)).reduce((a, b) => a + b, 0);
    expect(usdOf(micro)).toBe(1000);
  });
});
