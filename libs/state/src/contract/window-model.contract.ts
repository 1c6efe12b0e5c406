import type { AdvanceRequest, Series, Totals, WindowStore } from '@agentlens/guardrails';
import { type Bins, binOf, binsOf, greatestBins } from '@agentlens/guardrails';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { anAdvance, fresh, START_MS, sliding } from './requests.ts';

const SERIES: readonly Series[] = [
  sliding(1, 'a'),
  sliding(1, 'a', 'spread'),
  sliding(7, 'b', 'quantiles'),
  { metric: 'a', span: { kind: 'run', runId: 'run' }, shape: 'sum' },
  { metric: 'a', span: { kind: 'day', day: '2026-03-01' }, shape: 'quantiles' },
];

interface Fact {
  readonly atMs: number;
  /** Whole thousandths, so that a plain recount is exact. */
  readonly milli: number;
}
export interface Step {
  readonly nowMs: number;
  readonly facts: readonly Fact[];
}

/** Random batches with late and future events, gaps longer than a window, and arrivals out of order. */
const facts = (nowMs: number) =>
  fc.array(
    fc.record({
      atMs: fc.integer({ min: -500_000, max: 100_000 }).map((offset) => nowMs + offset),
      milli: fc.oneof(fc.integer({ min: -1_000_000, max: 1_000_000 }), fc.constantFrom(0, 1)),
    }),
    { maxLength: 6 },
  );
const step = fc
  .integer({ min: 0, max: 1_500_000 })
  .map((offset) => START_MS + offset)
  .chain((nowMs) => fc.record({ nowMs: fc.constant(nowMs), facts: facts(nowMs) }));
const NOTHING: Step = { nowMs: START_MS, facts: [] };
export const steps = fc.array(step, { minLength: 1, maxLength: 12 });

export function requestOf(agentId: string, { nowMs, facts: list }: Step, messageId = fresh('message')): AdvanceRequest {
  return anAdvance({
    agentId,
    messageId,
    nowMs,
    series: SERIES,
    increments: list.flatMap(({ atMs, milli }, event) =>
      SERIES.map((_, series) => ({ series, event, atMs, value: milli / 1000 })),
    ),
    // Every other event is marked as retryable but is never repeated; both kinds count alike.
    retryable: list.flatMap(({ atMs }, event) =>
      event % 2 === 0 ? [] : [{ event, id: `${messageId}-${event}`, atMs }],
    ),
  });
}

/** Reference model: scans every fact. `coming` is the number of facts that will be added to the answer. */
function recount(series: Series, seen: readonly Step[], nowMs: number, coming: number): Totals {
  const inside = seen.flatMap(({ nowMs: arrivedMs, facts: list }) =>
    list.map(({ atMs, milli }) => ({ atMs: Math.min(atMs, arrivedMs), milli })),
  );
  const { span } = series;
  const bucket = (atMs: number) => (span.kind === 'sliding' ? Math.floor(atMs / (span.minutes * 1000)) : 0);
  const head = Math.max(bucket(nowMs), ...seen.map((one) => bucket(one.nowMs)));
  const kept = inside.filter(({ atMs }) => bucket(atMs) > head - 60 && bucket(atMs) <= bucket(nowMs));
  const values = kept.map(({ milli }) => milli / 1000 + 0);
  const wide = series.shape !== 'sum' && kept.length > 0;
  const [newest] = kept.toSorted((a, b) => b.atMs - a.atMs || b.milli - a.milli);
  return {
    count: kept.length,
    sum: kept.reduce((sum, { milli }) => sum + milli, 0) / 1000,
    min: wide ? Math.min(...values) : null,
    max: wide ? Math.max(...values) : null,
    last: wide && newest ? { atMs: newest.atMs, value: newest.milli / 1000 } : null,
    bins: series.shape === 'quantiles' ? greatestBins(sketchOf(values), values.length, coming) : [],
  };
}

export function sketchOf(values: readonly number[]): Bins {
  const counts = new Map<number, number>();
  for (const bin of values.map(binOf)) counts.set(bin, (counts.get(bin) ?? 0) + 1);
  return binsOf(counts);
}

/** Random sequences compared with a full recount. `numRuns` is smaller if each step is a round trip. */
export function windowModelContract(name: string, stores: () => WindowStore, numRuns: number): void {
  describe(`${name} against a recount`, () => {
    it('returns before every batch the result of a full recount', async () => {
      await fc.assert(
        fc.asyncProperty(steps, async (list) => {
          const agentId = fresh('agent');
          for (const [index, one] of list.entries()) {
            const { before } = await stores().advance(requestOf(agentId, one));
            const seen = list.slice(0, index);
            expect(before).toEqual(SERIES.map((series) => recount(series, seen, one.nowMs, one.facts.length)));
          }
        }),
        { numRuns },
      );
    });

    it('returns the same for several messages at once as one by one', async () => {
      const grouped = fc.record({ list: steps, sizes: fc.array(fc.integer({ min: 1, max: 5 }), { minLength: 12 }) });
      await fc.assert(
        fc.asyncProperty(grouped, async ({ list, sizes }) => {
          const [single, together] = [fresh('agent'), fresh('agent')];
          const rest = list.map((one, index) => ({ one, id: `message-${index}` }));
          for (const size of sizes) {
            // The first message again: a redelivery together with other messages.
            const group = [...rest.splice(0, size), { one: list[0] ?? NOTHING, id: 'message-0' }];
            const wanted = [];
            for (const { one, id } of group) wanted.push(await stores().advance(requestOf(single, one, id)));
            const got = await stores().advanceAll(group.map(({ one, id }) => requestOf(together, one, id)));
            expect(got).toEqual(wanted);
          }
        }),
        { numRuns },
      );
    });

    it('ends in the same state for any order and number of deliveries', async () => {
      const shuffled = steps.chain((list) => {
        const numbered = list.map((one, index) => ({ one, id: `message-${index}` }));
        const again = fc.shuffledSubarray([...numbered, ...numbered], { minLength: 2 * numbered.length });
        return fc.record({ list: fc.constant(numbered), again });
      });
      await fc.assert(
        fc.asyncProperty(shuffled, async ({ list, again }) => {
          const [inOrder, disorder] = [fresh('agent'), fresh('agent')];
          for (const { one, id } of list) await stores().advance(requestOf(inOrder, one, id));
          for (const { one, id } of again) await stores().advance(requestOf(disorder, one, id));
          const newest = Math.max(...list.map(({ one }) => one.nowMs));
          for (const nowMs of [newest, newest + 30_000, newest + 200_000]) {
            expect(await stores().read('acme', disorder, nowMs, SERIES)).toEqual(
              await stores().read('acme', inOrder, nowMs, SERIES),
            );
          }
        }),
        { numRuns },
      );
    });
  });
}
