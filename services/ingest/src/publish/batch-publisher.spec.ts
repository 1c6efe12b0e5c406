import { agentEvents, type EventBatch } from '@agentlens/contracts';
import { BusUnavailable, createMemoryBus, type EventBus, each, encodeMessage } from '@agentlens/messaging';
import { aBatch, fixedClock } from '@agentlens/testing';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { IngestMetrics } from '../ingest-metrics.ts';
import { BatchPublisher } from './batch-publisher.ts';
import type { OutgoingBatch } from './messages.ts';

const outgoing = (batch = aBatch()): OutgoingBatch => ({
  tenantId: batch.tenantId,
  events: batch.events.length,
  message: encodeMessage(agentEvents, batch),
});

describe('the publisher', () => {
  const clock = fixedClock();
  const now = () => clock.now();
  let bus: EventBus;
  beforeEach(() => {
    bus = createMemoryBus({ publishDeadlineMs: 20 });
  });
  afterEach(() => bus.close());

  it('retries a failed publish under the same message id, so that the message is stored once', async () => {
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
    await publisher.publish(outgoing(batch));
    expect(seen).toEqual([batch]);
    await consumer.close();
  });

  it('returns a lasting refusal at once and does not wait for a full stream', async () => {
    let asked = 0;
    const full: EventBus = {
      ...bus,
      publishEncoded: async () => {
        asked += 1;
        throw new BusUnavailable('the stream is full', 5_000);
      },
    };
    const publisher = new BatchPublisher(full, new IngestMetrics(), now, async () => {
      throw new Error('waited');
    });
    await expect(publisher.publish(outgoing())).rejects.toBeInstanceOf(BusUnavailable);
    expect(asked).toBe(1);
  });

  it('is saturated while 64 MiB are in flight, and no longer', async () => {
    const publisher = new BatchPublisher(bus, new IngestMetrics(), now);
    const { message, ...rest } = outgoing();
    const large = { ...rest, message: { ...message, body: Buffer.alloc(64 * 1024 * 1024) } };
    const safe = publisher.publish(large);
    expect(publisher.saturated).toBe(true);
    await safe;
    await publisher.drain();
    expect(publisher.saturated).toBe(false);
  });

  it('is saturated while 256 messages are in flight', async () => {
    const publisher = new BatchPublisher(bus, new IngestMetrics(), now);
    const safe = Array.from({ length: 256 }, () => publisher.publish(outgoing()));
    expect(publisher.saturated).toBe(true);
    await Promise.all(safe);
    await publisher.drain();
    expect(publisher.saturated).toBe(false);
  });

  it('reports how long its oldest message has been in flight', async () => {
    const publisher = new BatchPublisher(bus, new IngestMetrics(), now);
    expect(publisher.oldestMs).toBe(0);
    const first = publisher.publish(outgoing());
    clock.advance(30);
    const second = publisher.publish(outgoing());
    clock.advance(10);
    expect(publisher.oldestMs).toBe(40);
    await Promise.all([first, second]);
    await publisher.drain();
    expect(publisher.oldestMs).toBe(0);
  });
});
