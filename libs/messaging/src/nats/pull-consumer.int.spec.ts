import { agentEvents, type EventBatch, guardrailTriggered } from '@agentlens/contracts';
import { aBatch, anEvent, aTrigger, eventually, type HeardMeters, hearMeters } from '@agentlens/testing';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { gate, recorder } from '../contract/harness.contract.ts';
import { ACK, SILENT } from '../event-bus.ts';
import { natsOfItsOwn } from './nats-of-its-own.testing.ts';

const GROUP = 'bounded';
/** Twice what its handlers take at once. */
const CAPACITY = 8;
/** What a connection that was lost took with it comes again soon; what is held is kept alive. */
const LARGE = { group: GROUP, concurrency: 64, ackWaitMs: 5_000 };
/** The server writes 67 MB to a disk that others use. */
const PATIENT = { deadlineMs: 60_000, timeoutMs: 90_000 };
/** Of messages of 900 kB within 32 MiB. */
const ROOM = 37;

describe('a pull consumer', () => {
  let stuck: ReturnType<typeof gate>;
  let meters: HeardMeters;
  beforeEach(() => {
    stuck = gate();
    meters = hearMeters();
  });
  afterEach(() => {
    stuck.open();
    meters.stop();
  });
  // Last: buses are closed after the hook above, as they wait for their handlers.
  const { open, proxied, manager } = natsOfItsOwn();

  it('holds no more than its capacity, also where a request from before a reconnection lives on', async () => {
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
    // The server hears nothing of it, and keeps what was asked over the old connection.
    proxy.mode('half-open');
    await eventually(async () => expect((await info()).num_waiting).toBe(2));

    const triggers = Array.from({ length: 5 * CAPACITY }, () => aTrigger());
    for (const trigger of triggers) await elsewhere.publish(guardrailTriggered, trigger);
    await eventually(async () => expect((await info()).num_waiting).toBe(0));
    // The consumer's is the newest of the gauges.
    expect(meters.gauge('agentlens.queue.capacity')).toBe(CAPACITY);
    expect(meters.gauge('agentlens.queue.size')).toBe(CAPACITY);

    stuck.open();
    await eventually(() => expect(new Set(group.ids())).toEqual(new Set(triggers.map(({ id }) => id))));
    expect(group.ids()).toHaveLength(triggers.length);
  });

  it('takes a request that is used up for what it is, and asks again', async () => {
    const warnings: unknown[] = [];
    const bus = await open(undefined, { logger: { ...SILENT, warn: (...said) => void warnings.push(said) } });
    const group = recorder();
    await bus.consume(guardrailTriggered, { group: GROUP, maxBatch: 2, concurrency: 2 }, group.handler);
    const triggers = Array.from({ length: 10 * CAPACITY }, () => aTrigger());
    await Promise.all(triggers.map((trigger) => bus.publish(guardrailTriggered, trigger)));
    await eventually(() => expect(group.ids().sort()).toEqual(triggers.map(({ id }) => id).sort()));
    expect(warnings).toEqual([]);
  });

  it('holds no more bytes than it has room for, and has every message in the end', async () => {
    const bus = await open();
    const { info, group, batches, mostHeld } = await large();
    for (const batch of batches) await bus.publish(agentEvents, batch, PATIENT);

    await bus.consume(agentEvents, LARGE, group.handler);
    // No request waits any more although the capacity is not reached.
    await eventually(async () => expect((await info()).num_waiting).toBe(0));
    await eventually(() => expect(mostHeld()).toBeGreaterThan(ROOM / 2), PATIENT);

    stuck.open();
    await eventually(() => expect(new Set(group.ids())).toEqual(new Set(batches.map(({ id }) => id))), PATIENT);
    expect(mostHeld()).toBeLessThanOrEqual(ROOM);
  });

  it('holds no more bytes than that where a request from before a reconnection lives on', async () => {
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

  /** More batches than there is room for. */
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

/** So long a machine may stand still between a publish and the next. */
const PACE_MS = 3_000;

describe('a consumer with a pace', () => {
  const { open } = natsOfItsOwn();

  it('handles at once what comes after quiet, and together what comes before the pace lets it', async () => {
    const bus = await open();
    const group = recorder();
    await bus.consume(guardrailTriggered, { group: 'paced', maxBatch: 10, paceMs: PACE_MS }, group.handler);
    await bus.publish(guardrailTriggered, aTrigger());
    await eventually(() => expect(group.batches).toEqual([1]));
    for (let following = 0; following < 3; following++) await bus.publish(guardrailTriggered, aTrigger());
    await eventually(() => expect(group.batches).toEqual([1, 3]));
  });
});
