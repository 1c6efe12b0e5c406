import { agentEvents, type EventBatch, guardrailTriggered } from '@agentlens/contracts';
import { aBatch, anEvent, aTrigger, eventually, type RecordedMeters, recordMeters } from '@agentlens/testing';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { gate, recorder } from '../contract/harness.contract.ts';
import { ACK, SILENT } from '../event-bus.ts';
import { natsPerTest } from './nats-per-test.testing.ts';

const GROUP = 'bounded';
/** Twice what its handlers take at once. */
const CAPACITY = 8;
/** Short, so that messages lost with a connection are redelivered soon; held messages are kept alive. */
const LARGE = { group: GROUP, concurrency: 64, ackWaitMs: 5_000 };
/** The server writes 67 MB to a shared disk. */
const PATIENT = { deadlineMs: 60_000, timeoutMs: 90_000 };
/** Messages of 900 kB that fit into 32 MiB. */
const ROOM = 37;

describe('a pull consumer', () => {
  let stuck: ReturnType<typeof gate>;
  let meters: RecordedMeters;
  beforeEach(() => {
    stuck = gate();
    meters = recordMeters();
  });
  afterEach(() => {
    stuck.open();
    meters.stop();
  });
  // Registered last, because buses wait for their handlers and the hook above releases those.
  const { open, proxied, manager } = natsPerTest();

  it('holds no more than its capacity while a request from before a reconnect is still open', async () => {
    const proxy = await proxied();
    const bus = await open(proxy.url);
    const elsewhere = await open();
    const { consumers } = await manager();
    const info = () => consumers.info('GUARDRAILS', GROUP);

    const group = recorder(async () => {
      await stuck.opened;
      return ACK;
    });
    const options = { group: GROUP, maxBatch: 2, concurrency: 2, ackWaitMs: 60_000 };
    await bus.consume(guardrailTriggered, options, group.handler);
    await eventually(async () => expect((await info()).num_waiting).toBe(1));
    // The server does not notice and keeps the request of the old connection open.
    proxy.mode('half-open');
    await eventually(async () => expect((await info()).num_waiting).toBe(2));

    const triggers = Array.from({ length: 5 * CAPACITY }, () => aTrigger());
    for (const trigger of triggers) await elsewhere.publish(guardrailTriggered, trigger);
    await eventually(async () => expect((await info()).num_waiting).toBe(0));
    // The consumer's gauge is the newest one.
    expect(meters.gauge('agentlens.queue.capacity')).toBe(CAPACITY);
    expect(meters.gauge('agentlens.queue.size')).toBe(CAPACITY);

    stuck.open();
    await eventually(() => expect(new Set(group.ids())).toEqual(new Set(triggers.map(({ id }) => id))));
    expect(group.ids()).toHaveLength(triggers.length);
  });

  it('sends a new request when the previous one is used up', async () => {
    const warnings: unknown[] = [];
    const bus = await open(undefined, { logger: { ...SILENT, warn: (...said) => void warnings.push(said) } });
    const group = recorder();
    // On a small disk, the streams are smaller than configured, which the bus has said by now.
    const ofStreams = warnings.length;
    await bus.consume(guardrailTriggered, { group: GROUP, maxBatch: 2, concurrency: 2 }, group.handler);
    const triggers = Array.from({ length: 10 * CAPACITY }, () => aTrigger());
    await Promise.all(triggers.map((trigger) => bus.publish(guardrailTriggered, trigger)));
    await eventually(() => expect(group.ids().sort()).toEqual(triggers.map(({ id }) => id).sort()));
    expect(warnings.slice(ofStreams)).toEqual([]);
  });

  it('respects its byte limit and still receives every message', async () => {
    const bus = await open();
    const { info, group, batches, mostHeld } = await large();
    for (const batch of batches) await bus.publish(agentEvents, batch, PATIENT);

    await bus.consume(agentEvents, LARGE, group.handler);
    // No request is open although the capacity is not reached.
    await eventually(async () => expect((await info()).num_waiting).toBe(0));
    await eventually(() => expect(mostHeld()).toBeGreaterThan(ROOM / 2), PATIENT);

    stuck.open();
    await eventually(() => expect(new Set(group.ids())).toEqual(new Set(batches.map(({ id }) => id))), PATIENT);
    expect(mostHeld()).toBeLessThanOrEqual(ROOM);
  });

  it('respects its byte limit while a request from before a reconnect is still open', async () => {
    const proxy = await proxied();
    const bus = await open(proxy.url);
    const elsewhere = await open();
    const { info, group, batches, mostHeld } = await large();
    await bus.consume(agentEvents, LARGE, group.handler);
    await eventually(async () => expect((await info()).num_waiting).toBe(1));
    proxy.mode('half-open');
    await eventually(async () => expect((await info()).num_waiting).toBe(2));

    for (const batch of batches) await elsewhere.publish(agentEvents, batch, PATIENT);
    await eventually(async () => expect((await info()).num_waiting).toBe(0), PATIENT);
    await eventually(() => expect(mostHeld()).toBeGreaterThan(ROOM / 2), PATIENT);

    stuck.open();
    await eventually(() => expect(new Set(group.ids())).toEqual(new Set(batches.map(({ id }) => id))), PATIENT);
    expect(mostHeld()).toBeLessThanOrEqual(ROOM);
  });

  /** More batches than fit. */
  async function large() {
    const { consumers } = await manager();
    const payload = { text: 'x'.repeat(900_000) };
    const batches = Array.from({ length: 2 * ROOM }, () => aBatch({ events: [{ ...anEvent(), payload }] }));
    let most = 0;
    const group = recorder<EventBatch>(async () => {
      most = Math.max(most, meters.gauge('agentlens.queue.size') ?? 0);
      await stuck.opened;
      return ACK;
    });
    return { info: () => consumers.info('AGENT_EVENTS', GROUP), group, batches, mostHeld: () => most };
  }
});

/** How long a slow machine may stall between two publishes. */
const PACE_MS = 3_000;

describe('consumer with a pace', () => {
  const { open } = natsPerTest();

  it('handles the first message immediately and batches those within the interval', async () => {
    const bus = await open();
    const group = recorder();
    await bus.consume(guardrailTriggered, { group: 'paced', maxBatch: 10, paceMs: PACE_MS }, group.handler);
    await bus.publish(guardrailTriggered, aTrigger());
    await eventually(() => expect(group.batches).toEqual([1]));
    for (let following = 0; following < 3; following++) await bus.publish(guardrailTriggered, aTrigger());
    await eventually(() => expect(group.batches).toEqual([1, 3]));
  });
});
