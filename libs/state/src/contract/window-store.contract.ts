import { binOf, greatestBins, quantileOf, type Series, type WindowStore } from '@agentlens/guardrails';
import { describe, expect, it } from '@jest/globals';
import { anAdvance, batchOf, fresh, START_MS, sliding, sums } from './requests.ts';
import { sketchOf } from './window-model.contract.ts';

/** Contract of every WindowStore. `stores` returns a store, empty or shared. */
export function windowStoreContract(name: string, stores: () => WindowStore): void {
  describe(`window store contract: ${name}`, () => {
    const minute = sliding(1);

    it('returns what the window contained before the batch', async () => {
      const agentId = fresh('agent');
      const first = await stores().advance(batchOf(agentId, minute, START_MS, [{ atMs: START_MS, value: 7 }]));
      const second = await stores().advance(batchOf(agentId, minute, START_MS + 1, [{ atMs: START_MS, value: 1 }]));
      expect(sums(first.before)).toEqual([{ count: 0, sum: 0 }]);
      expect(sums(second.before)).toEqual([{ count: 1, sum: 7 }]);
      expect(sums(await stores().read('acme', agentId, START_MS + 1, [minute]))).toEqual([{ count: 2, sum: 8 }]);
    });

    it('keeps the current bucket and the 59 before it', async () => {
      const agentId = fresh('agent');
      await stores().advance(batchOf(agentId, minute, START_MS, [{ atMs: START_MS, value: 5 }]));
      expect(sums(await stores().read('acme', agentId, START_MS + 59_999, [minute]))).toEqual([{ count: 1, sum: 5 }]);
      expect(sums(await stores().read('acme', agentId, START_MS + 60_000, [minute]))).toEqual([{ count: 0, sum: 0 }]);
      const later = await stores().advance(batchOf(agentId, minute, START_MS + 60_000, []));
      expect(sums(later.before)).toEqual([{ count: 0, sum: 0 }]);
    });

    it('returns the same answer for a redelivered message and counts it once', async () => {
      const agentId = fresh('agent');
      const request = batchOf(agentId, minute, START_MS, [{ atMs: START_MS, value: 3 }]);
      const first = await stores().advance(request);
      await stores().advance(batchOf(agentId, minute, START_MS, [{ atMs: START_MS, value: 4 }]));
      expect(await stores().advance(request)).toEqual(first);
      expect(sums(await stores().read('acme', agentId, START_MS, [minute]))).toEqual([{ count: 2, sum: 7 }]);
    });

    it('counts a message again after its id was forgotten', async () => {
      const agentId = fresh('agent');
      const request = batchOf(agentId, minute, START_MS, [{ atMs: START_MS, value: 3 }]);
      await stores().advance(request);
      await stores().forget('acme', agentId, ['nothing', request.messageId]);
      expect(sums((await stores().advance(request)).before)).toEqual([{ count: 1, sum: 3 }]);
      expect(sums(await stores().read('acme', agentId, START_MS, [minute]))).toEqual([{ count: 2, sum: 6 }]);
    });

    it('counts a message once if it is delivered concurrently', async () => {
      const agentId = fresh('agent');
      const request = batchOf(agentId, minute, START_MS, [{ atMs: START_MS, value: 3 }]);
      const answers = await Promise.all(Array.from({ length: 8 }, () => stores().advance(request)));
      for (const answer of answers) expect(answer).toEqual(answers[0]);
      expect(sums(await stores().read('acme', agentId, START_MS, [minute]))).toEqual([{ count: 1, sum: 3 }]);
    });

    it('matches a stored answer to the question by name if rules have changed', async () => {
      const agentId = fresh('agent');
      const other = sliding(5);
      await stores().advance(batchOf(agentId, minute, START_MS, [{ atMs: START_MS, value: 3 }]));
      const request = batchOf(agentId, minute, START_MS, []);
      await stores().advance(request);
      const again = await stores().advance({
        ...request,
        series: [other, minute],
        cooldowns: [{ ruleId: 'new', dryRun: false }],
      });
      expect(sums(again.before)).toEqual([
        { count: 0, sum: 0 },
        { count: 1, sum: 3 },
      ]);
      expect(again.cooling).toEqual([null]);
    });

    it('sees in a message what another message of the same call has counted', async () => {
      const agentId = fresh('agent');
      const batch = (id: string) => ({
        ...batchOf(agentId, minute, START_MS, [{ atMs: START_MS, value: 3 }]),
        retryable: [{ event: 0, id, atMs: START_MS }],
        cooldowns: [{ ruleId: id, dryRun: false }],
      });
      const answers = await stores().advanceAll([batch('event-1'), batch('event-2'), batch('event-1')]);
      expect(answers.map(({ duplicates }) => duplicates)).toEqual([[], [], [0]]);
      expect(answers.map(({ before }) => sums(before)[0]?.count)).toEqual([0, 1, 2]);
      expect(sums(await stores().read('acme', agentId, START_MS, [minute]))).toEqual([{ count: 2, sum: 6 }]);
    });

    it('counts messages of several agents in one step, separately for each agent', async () => {
      const [one, other] = [fresh('agent'), fresh('agent')];
      const spread = sliding(5, 'latency_ms', 'spread');
      const run: Series = { metric: 'latency_ms', span: { kind: 'run', runId: 'run' }, shape: 'sum' };
      const message = (agentId: string, messageId: string, value: number) => ({
        ...anAdvance({ agentId, messageId, nowMs: START_MS, series: [minute, spread, run] }),
        increments: [0, 1, 2].map((series) => ({ series, event: 0, atMs: START_MS, value })),
        retryable: [{ event: 0, id: `of ${messageId}`, atMs: START_MS }],
      });
      const requests = [message(one, 'm1', 1), message(other, 'm1', 2), message(one, 'm2', 4), message(one, 'm1', 1)];
      const answers = await stores().advanceAll(requests);
      expect(answers.map(({ before }) => sums(before).map(({ sum }) => sum))).toEqual([
        [0, 0, 0],
        [0, 0, 0],
        [1, 1, 1],
        [0, 0, 0],
      ]);
      expect(answers.map(({ duplicates }) => duplicates)).toEqual([[], [], [], []]);
      expect(await stores().advanceAll(requests.toReversed())).toEqual(answers.toReversed());
      for (const [agentId, sum] of [[one, 5] as const, [other, 2] as const]) {
        const held = await stores().read('acme', agentId, START_MS, [minute, spread, run]);
        expect(held.map((totals) => totals.sum)).toEqual([sum, sum, sum]);
      }
    });

    it('counts thousands of windows of an agent in one step', async () => {
      const agentId = fresh('agent');
      const shapeOf = (i: number) => (i % 100 === 1 ? 'quantiles' : i % 3 === 0 ? 'sum' : 'spread');
      const series = Array.from({ length: 1400 }, (_, i) => sliding(i + 1, 'latency_ms', shapeOf(i)));
      const message = (value: number) => ({
        ...anAdvance({ agentId, nowMs: START_MS, series }),
        increments: series.map((_, index) => ({ series: index, event: 0, atMs: START_MS, value: value + index })),
      });
      await stores().advance(message(0));
      const { before } = await stores().advance(message(1));
      expect(sums(before)).toEqual(series.map((_, index) => ({ count: 1, sum: index })));
      const held = await stores().read('acme', agentId, START_MS, series);
      expect(sums(held)).toEqual(series.map((_, index) => ({ count: 2, sum: 2 * index + 1 })));
      expect(held.map(({ max }) => max)).toEqual(series.map(({ shape }, i) => (shape === 'sum' ? null : i + 1)));
    });

    it('counts a sketch bin once per event that falls into it', async () => {
      const agentId = fresh('agent');
      const quantiles = sliding(1, 'latency_ms', 'quantiles');
      for (const times of [1, 126, 1, 128, 70_000]) {
        const values = Array.from({ length: times }, () => ({ atMs: START_MS, value: 41 }));
        await stores().advance(batchOf(agentId, quantiles, START_MS, values));
        const [totals] = await stores().read('acme', agentId, START_MS, [quantiles]);
        expect(totals?.bins).toEqual([{ bin: binOf(41), count: totals?.count }]);
      }
    });

    it('builds the same sketch from values that arrive together, one by one or late', async () => {
      const quantiles = sliding(1, 'latency_ms', 'quantiles');
      const values = Array.from({ length: 60 }, (_, i) => ({
        atMs: START_MS - (i % 3) * 1000,
        value: 1.1 ** (i % 40),
      }));
      const bins = greatestBins(sketchOf(values.map(({ value }) => value)), values.length, 0);
      const [together, apart] = [fresh('agent'), fresh('agent')];
      await stores().advance(batchOf(together, quantiles, START_MS, values));
      for (const value of values) await stores().advance(batchOf(apart, quantiles, START_MS, [value]));
      for (const agentId of [together, apart])
        expect(await stores().read('acme', agentId, START_MS, [quantiles])).toMatchObject([{ count: 60, bins }]);
    });

    it('returns the required bins of hundreds of values that arrive singly, together or late', async () => {
      const agentId = fresh('agent');
      const quantiles = sliding(1, 'latency_ms', 'quantiles');
      const seen: { atMs: number; value: number }[] = [];
      for (let i = 0; i < 300; i++) {
        // A bucket has more values than can be pending; the last ones see the first bucket expire.
        const nowMs = START_MS + Math.floor(i / 100) * 1000 + (i < 280 ? 0 : 58_000);
        const size = i % 90 === 89 ? 80 : i % 20 === 19 ? 5 : 1;
        const values = Array.from({ length: size }, (_, j) => ({
          atMs: i % 35 === 34 ? nowMs - 3000 : nowMs,
          value: 1.02 ** ((i * 7919 + j * 104_729) % 400),
        }));
        const { before } = await stores().advance(batchOf(agentId, quantiles, nowMs, values));
        const inside = seen.filter(({ atMs }) => atMs >= nowMs - 59_000).map(({ value }) => value);
        const bins = greatestBins(sketchOf(inside), inside.length, size);
        expect(before).toMatchObject([{ count: inside.length, bins }]);
        seen.push(...values);
      }
      const nowMs = START_MS + 60_000;
      const inside = seen.filter(({ atMs }) => atMs >= nowMs - 59_000).map(({ value }) => value);
      const bins = greatestBins(sketchOf(inside), inside.length, 0);
      expect(await stores().read('acme', agentId, nowMs, [quantiles])).toMatchObject([{ count: inside.length, bins }]);
    });

    it.each<[string, (at: number) => number]>([
      ['spread', (at) => 1.02 ** ((at * 7919) % 400)],
      ['rising', (at) => 1.0005 ** at],
      ['falling', (at) => 1.0005 ** -at],
      ['equal', () => 41],
    ])('returns the required bins of thousands of values that are %s, in batches of any size', async (_, value) => {
      const agentId = fresh('agent');
      const quantiles = sliding(1, 'latency_ms', 'quantiles');
      const seen: number[] = [];
      const nextBatch = (size: number) => {
        const values = Array.from({ length: size }, (_, i) => ({ atMs: START_MS, value: value(seen.length + i) }));
        const bins = greatestBins(sketchOf(seen), seen.length, size);
        const wanted = seen.length === 0 ? [] : bins;
        seen.push(...values.map((one) => one.value));
        const whole = batchOf(agentId, quantiles, START_MS, values);
        // Only the store can tell whether some of them count.
        const retryable =
          size % 2 === 0 ? [] : [0, size - 1].map((event) => ({ event, id: fresh('event'), atMs: START_MS }));
        return { request: { ...whole, retryable }, wanted };
      };
      for (const sizes of [
        [63, 1],
        [1, 1, 1],
        [100, 100],
        [7, 100, 100, 100],
        [600],
        [1, 500, 100],
        [1500, 1],
        [1025, 99],
        [100],
      ]) {
        const batches = sizes.map(nextBatch);
        const answers = await stores().advanceAll(batches.map(({ request }) => request));
        expect(answers.map(({ before }) => before[0]?.bins)).toEqual(batches.map(({ wanted }) => wanted));
      }
      const bins = greatestBins(sketchOf(seen), seen.length, 0);
      expect(await stores().read('acme', agentId, START_MS, [quantiles])).toMatchObject([{ count: seen.length, bins }]);
    });

    it('keeps a sketch of thousands of bins and drops those of expired buckets', async () => {
      const agentId = fresh('agent');
      const quantiles = sliding(1, 'latency_ms', 'quantiles');
      const numberIn = (bin: number) => 1.03 ** (bin - 500);
      // One bucket each; all but a few of its bins are also in the next one.
      for (let bucket = 0; bucket < 70; bucket++) {
        const nowMs = START_MS + bucket * 1000;
        const values = Array.from({ length: 40 }, (_, i) => ({ atMs: nowMs, value: numberIn(20 * bucket + i) }));
        await stores().advance(batchOf(agentId, quantiles, nowMs, values));
      }
      const newestMs = START_MS + 69_000;
      for (const bucketsLater of [0, 30, 60]) {
        const inside = Array.from({ length: 60 - bucketsLater }, (_, i) => 10 + bucketsLater + i);
        const values = inside.flatMap((bucket) => Array.from({ length: 40 }, (_, i) => numberIn(20 * bucket + i)));
        const nowMs = newestMs + bucketsLater * 1000;
        // So many values to come that all bins are returned.
        const asked = Array.from({ length: 50_000 }, () => ({ atMs: nowMs - 60_000, value: 1 }));
        const { before } = await stores().advance(batchOf(agentId, quantiles, nowMs, asked));
        expect(before).toMatchObject([{ count: values.length, bins: sketchOf(values) }]);
      }
    });

    it('detects an event that was counted in an earlier batch', async () => {
      const agentId = fresh('agent');
      const retryable = [{ event: 0, id: 'event-1', atMs: START_MS }];
      const batch = () => ({ ...batchOf(agentId, minute, START_MS, [{ atMs: START_MS, value: 3 }]), retryable });
      expect((await stores().advance(batch())).duplicates).toEqual([]);
      expect((await stores().advance(batch())).duplicates).toEqual([0]);
      expect(sums(await stores().read('acme', agentId, START_MS, [minute]))).toEqual([{ count: 1, sum: 3 }]);
    });

    it('counts an event once if it is in a batch twice', async () => {
      const agentId = fresh('agent');
      const values = [1, 2, 4].map((value) => ({ atMs: START_MS, value }));
      const retryable = ['a', 'b', 'a'].map((id, event) => ({ event, id, atMs: START_MS }));
      const answer = await stores().advance({ ...batchOf(agentId, minute, START_MS, values), retryable });
      expect(answer.duplicates).toEqual([2]);
      expect(sums(await stores().read('acme', agentId, START_MS, [minute]))).toEqual([{ count: 2, sum: 3 }]);
    });

    it('counts a late event in its own bucket while that is inside the window', async () => {
      const agentId = fresh('agent');
      await stores().advance(batchOf(agentId, minute, START_MS, [{ atMs: START_MS, value: 1 }]));
      await stores().advance(
        batchOf(agentId, minute, START_MS, [
          { atMs: START_MS - 59_000, value: 10 },
          { atMs: START_MS - 60_000, value: 100 },
        ]),
      );
      expect(sums(await stores().read('acme', agentId, START_MS, [minute]))).toEqual([{ count: 2, sum: 11 }]);
      expect(sums(await stores().read('acme', agentId, START_MS + 1000, [minute]))).toEqual([{ count: 1, sum: 1 }]);
    });

    it('counts an event from the future at the arrival of its batch', async () => {
      const agentId = fresh('agent');
      await stores().advance(batchOf(agentId, minute, START_MS, [{ atMs: START_MS + 3_600_000, value: 1 }]));
      expect(sums(await stores().read('acme', agentId, START_MS, [minute]))).toEqual([{ count: 1, sum: 1 }]);
    });

    it('adds money without drift, also when buckets expire', async () => {
      const agentId = fresh('agent');
      const cost = sliding(1, 'cost_usd');
      await stores().advance(
        batchOf(agentId, cost, START_MS - 30_000, [{ atMs: START_MS - 30_000, value: 12345.678901 }]),
      );
      await stores().advance(
        batchOf(agentId, cost, START_MS, [
          { atMs: START_MS, value: 0.1 },
          { atMs: START_MS, value: 0.2 },
        ]),
      );
      const later = await stores().advance(batchOf(agentId, cost, START_MS + 40_000, []));
      expect(later.before[0]?.sum).toBe(0.3);
    });

    it('ignores values that are not finite numbers', async () => {
      const agentId = fresh('agent');
      const values = [Number.NaN, Number.POSITIVE_INFINITY, 2].map((value) => ({ atMs: START_MS, value }));
      await stores().advance(batchOf(agentId, minute, START_MS, values));
      expect(sums(await stores().read('acme', agentId, START_MS, [minute]))).toEqual([{ count: 1, sum: 2 }]);
    });

    it('keeps the minimum, maximum and latest value, the larger of two in the same millisecond', async () => {
      const agentId = fresh('agent');
      const spread = sliding(1, 'latency_ms', 'spread');
      const values = [4, -2, 9, 3].map((value, index) => ({ atMs: START_MS + Math.min(index, 1), value }));
      await stores().advance(batchOf(agentId, spread, START_MS + 1, values));
      expect(await stores().read('acme', agentId, START_MS + 1, [spread])).toEqual([
        { count: 4, sum: 14, min: -2, max: 9, last: { atMs: START_MS + 1, value: 9 }, bins: [] },
      ]);
    });

    it('keeps a sketch that returns quantiles of exactly the window', async () => {
      const agentId = fresh('agent');
      const quantiles = sliding(1, 'latency_ms', 'quantiles');
      const values = Array.from({ length: 100 }, (_, index) => ({ atMs: START_MS, value: index + 1 }));
      await stores().advance(
        batchOf(agentId, quantiles, START_MS, [...values, { atMs: START_MS - 59_500, value: 1e6 }]),
      );
      await stores().advance(batchOf(agentId, quantiles, START_MS + 1000, []));
      const [totals] = await stores().read('acme', agentId, START_MS + 1000, [quantiles]);
      expect(totals?.count).toBe(100);
      expect(Math.abs((quantileOf(totals?.bins ?? [], 0.95, 100) ?? 0) - 95)).toBeLessThanOrEqual(0.951);
      expect(totals?.max).toBe(100);
    });

    it('sums runs and days independent of time', async () => {
      const agentId = fresh('agent');
      const spans: Series[] = [
        { metric: 'cost_usd', span: { kind: 'run', runId: 'r{1}:x' }, shape: 'sum' },
        { metric: 'cost_usd', span: { kind: 'day', day: '2026-03-01' }, shape: 'spread' },
        { metric: 'cost_usd', span: { kind: 'run', runId: 'r{1}:x' }, shape: 'quantiles' },
      ];
      const increments = [0, 1, 2].map((series) => ({ series, event: 0, atMs: START_MS, value: 0.25 }));
      const batch = (nowMs: number) => anAdvance({ agentId, nowMs, series: spans, increments });
      await stores().advance(batch(START_MS));
      const later = await stores().advance(batch(START_MS + 36_000_000));
      expect(later.before).toEqual([
        { count: 1, sum: 0.25, min: null, max: null, last: null, bins: [] },
        { count: 1, sum: 0.25, min: 0.25, max: 0.25, last: { atMs: START_MS, value: 0.25 }, bins: [] },
        {
          count: 1,
          sum: 0.25,
          min: 0.25,
          max: 0.25,
          last: { atMs: START_MS, value: 0.25 },
          bins: [{ bin: binOf(0.25), count: 1 }],
        },
      ]);
      expect(sums(await stores().read('acme', agentId, 0, spans))).toEqual(spans.map(() => ({ count: 2, sum: 0.5 })));
    });

    it('separates tenants, agents, metrics, spans and names that contain separators', async () => {
      const agentId = fresh('agent');
      await stores().advance(batchOf(agentId, minute, START_MS, [{ atMs: START_MS, value: 1 }]));
      const nothing = [{ count: 0, sum: 0 }];
      expect(sums(await stores().read('globex', agentId, START_MS, [minute]))).toEqual(nothing);
      expect(sums(await stores().read('acme', `${agentId}}`, START_MS, [minute]))).toEqual(nothing);
      expect(sums(await stores().read('acme', `${agentId}}:latency_ms`, START_MS, [minute]))).toEqual(nothing);
      expect(sums(await stores().read('acme', agentId, START_MS, [sliding(2)]))).toEqual(nothing);
      expect(sums(await stores().read('acme', agentId, START_MS, [sliding(1, 'latency_ms:1m')]))).toEqual(nothing);
    });

    it('returns nothing for no series', async () => {
      expect(await stores().read('acme', fresh('agent'), START_MS, [])).toEqual([]);
      expect(await stores().advance(anAdvance())).toEqual({ before: [], duplicates: [], cooling: [] });
    });
  });
}
