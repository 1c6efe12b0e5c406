import { type AgentEvent, agentEvents, type EventBatch } from '@agentlens/contracts';
import { BusUnavailable, createMemoryBus, type EventBus, each } from '@agentlens/messaging';
import { anEvent, fixedClock } from '@agentlens/testing';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { IngestMetrics } from '../ingest-metrics.ts';
import { BatchPublisher } from './batch-publisher.ts';
import { ManualTimer } from './manual-timer.testing.ts';
import { MessageCoalescer } from './message-coalescer.ts';
import type { MessagePart, OutgoingBatch } from './messages.ts';

function part(fields: Partial<MessagePart> & { count?: number; eventFields?: Partial<AgentEvent> } = {}): MessagePart {
  const { count = 1, eventFields, ...rest } = fields;
  const events = Array.from({ length: count }, () => anEvent(eventFields));
  const texts = events.map((event) => JSON.stringify(event));
  return { tenantId: 'acme', partition: '07', events, texts, bytes: Buffer.byteLength(`${texts.join()},`), ...rest };
}

const idsOf = (events: readonly AgentEvent[]) => events.map(({ id }) => id);

describe('the coalescer', () => {
  const clock = fixedClock();
  let bus: EventBus;
  let batches: EventBatch[];
  let timer: ManualTimer;
  let publisher: BatchPublisher;
  let coalescer: MessageCoalescer;

  beforeEach(async () => {
    bus = createMemoryBus({ publishDeadlineMs: 20 });
    batches = [];
    await bus.watch(agentEvents, { from: 'new' }, ({ value }) => batches.push(value));
    timer = new ManualTimer();
    publisher = new BatchPublisher(
      bus,
      new IngestMetrics(),
      () => clock.now(),
      async () => undefined,
    );
    coalescer = new MessageCoalescer(publisher, () => clock.now(), timer);
  });
  afterEach(() => bus.close());

  it('publishes nothing before the commit is due', async () => {
    const safe = coalescer.add(part());
    expect(batches).toEqual([]);
    timer.pass(0);
    await safe;
    expect(batches).toHaveLength(1);
  });

  it('merges the requests of one tenant, in order of arrival', async () => {
    const parts = [part({ count: 2 }), part({ count: 3 }), part()];
    const safe = parts.map((one) => coalescer.add(one));
    timer.pass(0);
    await Promise.all(safe);
    expect(batches.map(({ events }) => idsOf(events))).toEqual([parts.flatMap(({ events }) => idsOf(events))]);
  });

  it('dates the message when it is sent, not when it was started', async () => {
    const safe = coalescer.add(part());
    clock.advance(2);
    timer.pass(0);
    await safe;
    expect(batches[0]?.receivedAt).toBe(new Date(clock.now()).toISOString());
  });

  it('separates tenants and sends their messages together', async () => {
    const safe = [part(), part({ tenantId: 'globex' })].map((one) => coalescer.add(one));
    expect(timer.waiting).toBe(1);
    timer.pass(0);
    await Promise.all(safe);
    expect(batches.map(({ tenantId }) => tenantId)).toEqual(['acme', 'globex']);
  });

  it('gathers what arrives while a message is in flight, and reports the result of each', async () => {
    const sent: { readonly events: number; readonly arrived: PromiseWithResolvers<void> }[] = [];
    const slow = {
      publish: ({ events }: OutgoingBatch) => {
        const arrived = Promise.withResolvers<void>();
        sent.push({ events, arrived });
        return arrived.promise;
      },
    };
    const gathering = new MessageCoalescer(slow, () => clock.now(), timer);
    const first = gathering.add(part());
    timer.pass(0);
    const others = [part({ count: 2 }), part({ count: 3 })].map((one) => gathering.add(one));
    timer.pass(10);
    expect(sent.map(({ events }) => events)).toEqual([1]);

    sent[0]?.arrived.resolve();
    await first;
    timer.pass(25);
    expect(sent.map(({ events }) => events)).toEqual([1, 5]);

    sent[1]?.arrived.reject(new BusUnavailable('away', 0));
    expect((await Promise.allSettled(others)).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  });

  it('publishes at once when a message is full', async () => {
    const safe = Array.from({ length: 6 }, () => coalescer.add(part({ count: 90 })));
    expect(timer.waiting).toBe(1);
    timer.pass(0);
    await Promise.all(safe);
    expect(batches.map(({ events }) => events.length)).toEqual([450, 90]);
  });

  it('never fills a message beyond its byte limit', async () => {
    const eventFields = { payload: { text: 'x'.repeat(400_000) } };
    const safe = Array.from({ length: 3 }, () => coalescer.add(part({ eventFields })));
    timer.pass(0);
    await Promise.all(safe);
    expect(batches.map(({ events }) => events.length)).toEqual([2, 1]);
  });

  it('rejects every request of a message that cannot be written', async () => {
    const safe = [coalescer.add(part()), coalescer.add(part({ bytes: 1 }))];
    timer.pass(0);
    for (const outcome of await Promise.allSettled(safe)) expect(outcome).toMatchObject({ status: 'rejected' });
  });

  it('answers each request only when its message is safe, and rejects all of them if it is not', async () => {
    const consumer = await bus.consume(
      agentEvents,
      { group: 'slow' },
      each(() => new Promise<never>(() => undefined)),
    );
    const safe = [coalescer.add(part()), coalescer.add(part())];
    timer.pass(0);
    for (const outcome of await Promise.allSettled(safe)) {
      expect(outcome).toMatchObject({ status: 'rejected', reason: expect.any(BusUnavailable) });
    }
    void consumer.close();
  });

  it('sends what is waiting on flush', async () => {
    const safe = coalescer.add(part());
    coalescer.flush();
    await publisher.drain();
    await safe;
    expect(batches).toHaveLength(1);
    expect(timer.waiting).toBe(0);
  });
});
