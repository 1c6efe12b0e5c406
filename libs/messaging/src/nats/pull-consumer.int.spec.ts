import { guardrailTriggered } from '@agentlens/contracts';
import { aTrigger, eventually, hearMeters, startNats, type TestServer, tcpProxy } from '@agentlens/testing';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { jetstreamManager } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';
import { gate, recorder } from '../contract/harness.contract.ts';
import { ACK } from '../event-bus.ts';
import { connectNatsBus } from './connect-nats-bus.ts';

const GROUP = 'bounded';
/** Twice what its handlers take at once. */
const CAPACITY = 8;

describe('a pull consumer', () => {
  let server: TestServer;
  let closers: (() => Promise<unknown>)[];

  beforeEach(async () => {
    closers = [];
    server = await startNats();
  });
  afterEach(async () => {
    for (const close of closers.reverse()) await close();
    await server.stop();
  });

  it('holds no more than its capacity, also where a request from before a reconnection lives on', async () => {
    const meters = hearMeters();
    closers.push(async () => meters.stop());
    const proxy = await tcpProxy(server.url);
    closers.push(() => proxy.close());
    const bus = await connectNatsBus({ servers: proxy.url, name: 'slow' });
    closers.push(() => bus.close());
    const elsewhere = await connectNatsBus({ servers: server.url, name: 'publisher' });
    closers.push(() => elsewhere.close());
    const connection = await connect({ servers: server.url });
    closers.push(() => connection.close());
    const { consumers } = await jetstreamManager(connection);
    const info = () => consumers.info('GUARDRAILS', GROUP);

    const stuck = gate();
    closers.push(async () => stuck.open());
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
});
