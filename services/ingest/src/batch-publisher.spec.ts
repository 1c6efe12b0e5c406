import { agentEvents, type EventBatch } from '@agentlens/contracts';
import { BusUnavailable, createMemoryBus, type EventBus, each } from '@agentlens/messaging';
import { aBatch, fixedClock } from '@agentlens/testing';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { BatchPublisher } from './batch-publisher.ts';
import { IngestMetrics } from './ingest-metrics.ts';

const written = (batch = aBatch()) => ({ body: Buffer.from(JSON.stringify(batch)) });

describe('the publisher', () => {
  const clock = fixedClock();
  const now = () => clock.now();
  let bus: EventBus;
  beforeEach(() => {
    bus = createMemoryBus({ publishDeadlineMs: 20 });
  });
  afterEach(() => bus.close());

  it('repeats a failed publish under the same message id, so that the message is stored once', async () => {
    const settle = Promise.withResolvers<void>();
    const seen: EventBatch[] = [];
    const consumer = await bus.consume(
      agentEvents,
      { group: 'g' },
      each(async ({ value }) => {
        seen.push(value);
        await settle.promise;
        return { kind: 'ack' };
      }),
    );
    const publisher = new BatchPublisher(bus, new IngestMetrics(), now, async () => settle.resolve());
    const batch = aBatch();
    await publisher.publish(batch, written(batch));
    expect(seen).toEqual([batch]);
    await consumer.close();
  });

  it('gives a refusal that lasts back at once: a full stream is not waited for', async () => {
    let asked = 0;
    const full: EventBus = {
      ...bus,
      publish: async () => {
        asked += 1;
        throw new BusUnavailable('the stream is full', 5_000);
      },
    };
    const publisher = new BatchPublisher(full, new IngestMetrics(), now, async () => {
      throw new Error('waited');
    });
    await expect(publisher.publish(aBatch(), written())).rejects.toBeInstanceOf(BusUnavailable);
    expect(asked).toBe(1);
  });

  it('is saturated while 64 MiB are on their way, and no longer', async () => {
    const publisher = new BatchPublisher(bus, new IngestMetrics(), now);
    const safe = publisher.publish(aBatch(), { body: Buffer.alloc(64 * 1024 * 1024) });
    expect(publisher.saturated).toBe(true);
    await safe;
    await publisher.drain();
    expect(publisher.saturated).toBe(false);
  });

  it('is saturated while 256 messages are on their way', async () => {
    const publisher = new BatchPublisher(bus, new IngestMetrics(), now);
    const safe = Array.from({ length: 256 }, () => publisher.publish(aBatch(), written()));
    expect(publisher.saturated).toBe(true);
    await Promise.all(safe);
    await publisher.drain();
    expect(publisher.saturated).toBe(false);
  });

  it('tells how long its oldest message is on its way', async () => {
    const publisher = new BatchPublisher(bus, new IngestMetrics(), now);
    expect(publisher.oldestMs).toBe(0);
    const first = publisher.publish(aBatch(), written());
    clock.advance(30);
    const second = publisher.publish(aBatch(), written());
    clock.advance(10);
    expect(publisher.oldestMs).toBe(40);
    await Promise.all([first, second]);
    await publisher.drain();
    expect(publisher.oldestMs).toBe(0);
  });
});
