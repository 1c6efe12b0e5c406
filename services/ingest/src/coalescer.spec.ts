import { type AgentEvent, agentEvents, type EventBatch } from '@agentlens/contracts';
import { BusUnavailable, createMemoryBus, type EventBus, each } from '@agentlens/messaging';
import { anEvent, fixedClock } from '@agentlens/testing';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { BatchPublisher } from './batch-publisher.ts';
import { Coalescer } from './coalescer.ts';
import { IngestMetrics } from './ingest-metrics.ts';
import type { Part } from './parts.ts';

/** A moment that passes when the test says so. */
class ManualMoments {
  readonly #waiting = new Set<() => void>();

  readonly soon = (flush: () => void) => {
    this.#waiting.add(flush);
    return () => this.#waiting.delete(flush);
  };
  readonly late = this.soon;

  get waiting(): number {
    return this.#waiting.size;
  }

  pass(): void {
    for (const flush of [...this.#waiting]) flush();
  }
}

function part(fields: Partial<Part> & { count?: number } = {}): Part {
  const { count = 1, ...rest } = fields;
  const events = Array.from({ length: count }, () => anEvent());
  const texts = events.map((event) => JSON.stringify(event));
  return { tenantId: 'acme', partition: '07', events, texts, bytes: 500 * count, ...rest };
}

const idsOf = (events: readonly AgentEvent[]) => events.map(({ id }) => id);

describe('the coalescer', () => {
  const clock = fixedClock();
  let bus: EventBus;
  let batches: EventBatch[];
  let moments: ManualMoments;
  let publisher: BatchPublisher;
  let coalescer: Coalescer;

  beforeEach(async () => {
    bus = createMemoryBus({ publishDeadlineMs: 20 });
    batches = [];
    await bus.watch(agentEvents, { from: 'new' }, ({ value }) => batches.push(value));
    moments = new ManualMoments();
    publisher = new BatchPublisher(
      bus,
      new IngestMetrics(),
      () => clock.now(),
      async () => undefined,
    );
    coalescer = new Coalescer(publisher, () => clock.now(), moments);
  });
  afterEach(() => bus.close());

  it('publishes nothing before the moment has passed', async () => {
    const safe = coalescer.add(part());
    expect(batches).toEqual([]);
    moments.pass();
    await safe;
    expect(batches).toHaveLength(1);
  });

  it('merges the requests of one tenant and partition, in order of arrival', async () => {
    const parts = [part({ count: 2 }), part({ count: 3 }), part()];
    const safe = parts.map((one) => coalescer.add(one));
    moments.pass();
    await Promise.all(safe);
    expect(batches.map(({ events }) => idsOf(events))).toEqual([parts.flatMap(({ events }) => idsOf(events))]);
  });

  it('dates the message when it leaves, not when it was begun', async () => {
    const safe = coalescer.add(part());
    clock.advance(2);
    moments.pass();
    await safe;
    expect(batches[0]?.receivedAt).toBe(new Date(clock.now()).toISOString());
  });

  it('keeps tenants and partitions apart', async () => {
    const safe = [part(), part({ tenantId: 'globex' }), part({ partition: '08' })].map((one) => coalescer.add(one));
    moments.pass();
    await Promise.all(safe);
    expect(batches.map(({ tenantId, partition }) => `${tenantId}/${partition}`).sort()).toEqual([
      'acme/07',
      'acme/08',
      'globex/07',
    ]);
  });

  it('gathers what arrives while a message is on its way, and sends it when that one has arrived', async () => {
    const sent: { readonly events: number; readonly arrived: PromiseWithResolvers<void> }[] = [];
    const slow = {
      publish: ({ events }: EventBatch) => {
        const arrived = Promise.withResolvers<void>();
        sent.push({ events: events.length, arrived });
        return arrived.promise;
      },
    };
    const gathering = new Coalescer(slow, () => clock.now(), moments);
    const first = gathering.add(part());
    moments.pass();
    const others = [part({ count: 2 }), part({ count: 3 })].map((one) => gathering.add(one));
    expect(sent.map(({ events }) => events)).toEqual([1]);

    sent[0]?.arrived.resolve();
    await first;
    expect(sent.map(({ events }) => events)).toEqual([1, 5]);

    const last = gathering.add(part());
    sent[1]?.arrived.reject(new BusUnavailable('away', 0));
    expect((await Promise.allSettled(others)).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    expect(sent.map(({ events }) => events)).toEqual([1, 5, 1]);
    sent[2]?.arrived.resolve();
    await last;
  });

  it('waits for the message before it no longer than a moment', async () => {
    const sent: number[] = [];
    const stuck = { publish: ({ events }: EventBatch) => new Promise<void>(() => sent.push(events.length)) };
    const gathering = new Coalescer(stuck, () => clock.now(), moments);
    for (const count of [1, 2]) {
      void gathering.add(part({ count }));
      moments.pass();
    }
    expect(sent).toEqual([1, 2]);
  });

  it('publishes at once when a message is full', async () => {
    const safe = Array.from({ length: 6 }, () => coalescer.add(part({ count: 90 })));
    expect(moments.waiting).toBe(1);
    moments.pass();
    await Promise.all(safe);
    expect(batches.map(({ events }) => events.length)).toEqual([450, 90]);
  });

  it('never fills a message beyond its bytes', async () => {
    const safe = Array.from({ length: 3 }, () => coalescer.add(part({ bytes: 400_000 })));
    moments.pass();
    await Promise.all(safe);
    expect(batches.map(({ events }) => events.length)).toEqual([2, 1]);
  });

  it('answers each request only when its message is safe, and all of them when it is not', async () => {
    const consumer = await bus.consume(
      agentEvents,
      { group: 'slow' },
      each(() => new Promise<never>(() => undefined)),
    );
    const safe = [coalescer.add(part()), coalescer.add(part())];
    moments.pass();
    for (const outcome of await Promise.allSettled(safe)) {
      expect(outcome).toMatchObject({ status: 'rejected', reason: expect.any(BusUnavailable) });
    }
    void consumer.close();
  });

  it('sends what waits when told to', async () => {
    const safe = coalescer.add(part());
    coalescer.flush();
    await publisher.drain();
    await safe;
    expect(batches).toHaveLength(1);
    expect(moments.waiting).toBe(0);
  });
});
