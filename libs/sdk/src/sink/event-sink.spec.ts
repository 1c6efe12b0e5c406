import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { HttpAnswer } from '../runtime/runtime.ts';
import { settle, TestClock, testIds } from '../testing/test-clock.ts';
import { SINK_DEFAULTS, type SinkOptions } from './event-queue.ts';
import { EventSink } from './event-sink.ts';

interface Sent {
  readonly batchId: string;
  readonly body: string;
  readonly events: readonly { id: string; kind: string; data: { count?: number } }[];
}

const answered = (status: number, text = '{}', headers: Record<string, string> = {}): HttpAnswer => ({
  status,
  text,
  header: (name) => headers[name],
});

/** A sink in front of a scripted server. */
function aSink(
  options: Partial<SinkOptions> = {},
  answer: (sent: Sent, count: number) => HttpAnswer | null = () => answered(200),
) {
  const clock = new TestClock();
  const sent: Sent[] = [];
  const newId = testIds();
  let agentId: string | undefined = 'agent-1';
  const sink = new EventSink(
    { ...SINK_DEFAULTS, ...options },
    {
      clock,
      random: () => 1,
      newId,
      agentId: () => agentId,
      warn: () => undefined,
      send: async (body, batchId) => {
        const one = { batchId, body, events: JSON.parse(body).events };
        sent.push(one);
        const given = answer(one, sent.length);
        if (given === null) throw new Error('connection reset');
        return given;
      },
    },
  );
  const run = { runId: 'run-1' };
  const add = (count = 1) => {
    for (let n = 0; n < count; n++) sink.add({ id: newId(0), at: clock.now(), kind: 'x', run, data: {} });
  };
  const setAgent = (id: string | undefined) => {
    agentId = id;
  };
  return { sink, clock, sent, add, setAgent };
}

describe('the sink', () => {
  it('queues added events and sends them in batches after the flush interval', async () => {
    const { sink, clock, sent, add } = aSink({ batchSize: 10, flushMs: 1000 });
    add(3);
    await clock.advance(999);
    expect(sent).toHaveLength(0);
    await clock.advance(1);
    expect(sent.map(({ events }) => events.length)).toEqual([3]);
    expect(sink.stats).toEqual({ enqueued: 3, delivered: 3, dropped: 0, waiting: 0 });
  });

  it('does not wait for the interval when a batch is full', async () => {
    const { clock, sent, add } = aSink({ batchSize: 10 });
    add(25);
    expect(sent).toHaveLength(0);
    await clock.advance(0);
    expect(sent.map(({ events }) => events.length)).toEqual([10, 10, 5]);
  });

  it('retries a batch with the same bytes under the same id', async () => {
    const { sink, clock, sent, add } = aSink({}, (_, count) => (count < 3 ? null : answered(200)));
    add(2);
    await clock.advance(60_000);
    expect(sent).toHaveLength(3);
    expect(new Set(sent.map(({ body }) => body)).size).toBe(1);
    expect(new Set(sent.map(({ batchId }) => batchId)).size).toBe(1);
    expect(sink.stats).toMatchObject({ delivered: 2, dropped: 0 });
  });

  it('does not retry a rejected batch, and counts it as dropped', async () => {
    const { sink, clock, sent, add } = aSink({}, () => answered(401));
    add(2);
    await clock.advance(60_000);
    expect(sent).toHaveLength(1);
    expect(sink.stats).toMatchObject({ delivered: 0, dropped: 2, waiting: 0 });
  });

  it('waits as long as the server asks', async () => {
    const busy = answered(429, '', { 'retry-after': '30' });
    const { clock, sent, add } = aSink({}, (_, count) => (count === 1 ? busy : answered(200)));
    add();
    await clock.advance(30_999);
    expect(sent).toHaveLength(1);
    await clock.advance(1);
    expect(sent).toHaveLength(2);
  });

  it('halves a batch that is too large, under new ids', async () => {
    const { sink, clock, sent, add } = aSink({ batchSize: 8 }, ({ events }) => answered(events.length > 3 ? 413 : 200));
    add(8);
    await clock.advance(1000);
    expect(sent.map(({ events }) => events.length)).toEqual([8, 4, 2, 2, 4, 2, 2]);
    expect(new Set(sent.map(({ batchId }) => batchId)).size).toBe(7);
    expect(sink.stats).toMatchObject({ delivered: 8, dropped: 0 });
  });

  it('counts the events of a batch that the server rejected', async () => {
    const { sink, clock, add } = aSink({}, () => answered(207, '{"accepted":3,"rejected":2}'));
    add(5);
    await clock.advance(1000);
    expect(sink.stats).toMatchObject({ delivered: 3, dropped: 2 });
  });

  it('keeps everything while the agent has no id', async () => {
    const { sink, clock, sent, add, setAgent } = aSink();
    setAgent(undefined);
    add(3);
    await clock.advance(10_000);
    expect(sent).toHaveLength(0);
    setAgent('agent-1');
    sink.flush();
    await settle();
    expect(sink.stats).toMatchObject({ delivered: 3 });
  });

  it('reports how many events were dropped', async () => {
    const { sink, clock, sent, add } = aSink({ maxQueue: 10, batchSize: 5 });
    add(17);
    await clock.advance(1000);
    const reports = sent.flatMap(({ events }) => events).filter(({ kind }) => kind === 'sink.dropped');
    expect(reports.map(({ data }) => data)).toEqual([{ count: 7, total: 7 }]);
    expect(sink.stats).toEqual({ enqueued: 17, delivered: 10, dropped: 7, waiting: 0 });
  });
});

describe('an exiting process', () => {
  it('counts waiting events as dropped, once', async () => {
    const { sink, clock, add } = aSink({ batchSize: 2, maxInFlight: 1, attempts: 1_000 }, () => null);
    add(5);
    await clock.advance(1_000);
    expect(sink.abandon()).toBe(5);
    expect(sink.stats).toEqual({ enqueued: 5, delivered: 0, dropped: 5, waiting: 0 });
    expect(sink.abandon()).toBe(0);
  });
});

describe('drain', () => {
  it('flushes once for any number of concurrent callers, and sends each event once', async () => {
    const { sink, sent, add } = aSink({ batchSize: 50 });
    add(130);
    const drained = await Promise.all([sink.drain(1000), sink.drain(1000), sink.drain(1000)]);
    expect(drained).toEqual([true, true, true]);
    expect(sent.map(({ events }) => events.length)).toEqual([50, 50, 30]);
    expect(new Set(sent.flatMap(({ events }) => events.map(({ id }) => id))).size).toBe(130);
  });

  it('stops at its deadline while the server is unavailable, and keeps what it could not send', async () => {
    const { sink, clock, add } = aSink({ attempts: 1_000 }, () => null);
    add(3);
    const drained = sink.drain(5_000);
    await clock.advance(5_000);
    expect(await drained).toBe(false);
    expect(sink.stats).toMatchObject({ delivered: 0, dropped: 0, waiting: 3 });
  });

  it('does not wait for events added meanwhile', async () => {
    let again: () => void = () => undefined;
    let left = 5;
    const { sink, add } = aSink({ batchSize: 1, maxInFlight: 1 }, () => {
      if (left-- > 0) again();
      return answered(200);
    });
    again = () => add();
    add();
    expect(await sink.drain(1000)).toBe(true);
    expect(sink.stats.enqueued).toBeGreaterThan(sink.stats.delivered - 1);
  });

  it('cuts a backoff delay short', async () => {
    const { sink, clock, sent, add } = aSink({ backoffBaseMs: 10_000 }, (_, count) =>
      count === 1 ? null : answered(200),
    );
    add();
    await clock.advance(1000);
    expect(sent).toHaveLength(1);
    expect(await sink.drain(1000)).toBe(true);
    expect(sent).toHaveLength(2);
  });

  it('reports earlier drops once, and does not loop on a rejecting server', async () => {
    const { sink, clock, sent, add } = aSink({}, (_, count) => answered(count < 3 ? 400 : 200));
    add(4);
    await clock.advance(1000);
    expect(await sink.drain(1000)).toBe(false);
    expect(await sink.drain(1000)).toBe(true);
    expect(sent).toHaveLength(3);
    expect(sent[2]?.events.map(({ data }) => data)).toEqual([{ count: 4, total: 4 }]);
  });
});

describe('every event', () => {
  it('is delivered or counted, and the reported counts add up to exactly what was not delivered', async () => {
    const outcome = fc.constantFrom('ok', 'down', 'refused', 'too large', 'busy', 'throttled');
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.nat(30), { maxLength: 12 }),
        fc.array(outcome, { maxLength: 25 }),
        async (bursts, outcomes) => {
          const arrived = new Map<string, { kind: string; count: number }>();
          const { sink, clock, add } = aSink({ maxQueue: 20, batchSize: 7, attempts: 3 }, ({ events }) => {
            const what = outcomes.shift() ?? 'ok';
            if (what === 'down') return null;
            if (what === 'refused') return answered(400);
            if (what === 'busy') return answered(503);
            if (what === 'throttled') return answered(429, '', { 'retry-after': '1' });
            if (what === 'too large' && events.length > 1) return answered(413);
            for (const { id, kind, data } of events) arrived.set(id, { kind, count: data.count ?? 0 });
            return answered(200);
          });
          for (const burst of bursts) {
            add(burst);
            await clock.advance(400);
          }
          await clock.advance(120_000);
          outcomes.length = 0;
          await sink.drain(1000);
          const all = [...arrived.values()];
          const own = all.filter(({ kind }) => kind === 'x').length;
          const reported = all.reduce((sum, { count }) => sum + count, 0);
          const { enqueued, delivered, dropped, waiting } = sink.stats;
          expect({ own, waiting, total: own + dropped }).toEqual({ own: delivered, waiting: 0, total: enqueued });
          expect(reported).toBe(dropped);
        },
      ),
      { numRuns: 60 },
    );
  });
});
