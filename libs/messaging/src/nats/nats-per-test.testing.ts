import { startNats, type TcpProxy, type TestServer, tcpProxy } from '@agentlens/testing';
import { afterEach, beforeEach } from '@jest/globals';
import { jetstreamManager } from '@nats-io/jetstream';
import { connect, type NatsConnection } from '@nats-io/transport-node';
import type { EventBus } from '../event-bus.ts';
import { connectNatsBus } from './connect-nats-bus.ts';
import type { NatsBusOptions } from './open-nats-bus.ts';

/** Starts a NATS server for each test of the enclosing describe. Buses and connections are closed after the test. */
export function natsPerTest() {
  let current: TestServer | undefined;
  let closers: (() => Promise<unknown>)[];

  beforeEach(async () => {
    closers = [];
    current = await startNats();
  });
  afterEach(async () => {
    await Promise.all(closers.map((close) => close()));
    await current?.stop();
    current = undefined;
  });

  function server(): TestServer {
    if (current === undefined) throw new Error('the server is started by beforeEach');
    return current;
  }

  async function open(servers = server().url, options: Partial<NatsBusOptions> = {}): Promise<EventBus> {
    const bus = await connectNatsBus({ servers, name: 'spec', ...options });
    closers.push(() => bus.close());
    return bus;
  }

  async function proxied(): Promise<TcpProxy> {
    const proxy = await tcpProxy(server().url);
    closers.push(() => proxy.close());
    return proxy;
  }

  async function connection(): Promise<NatsConnection> {
    const opened = await connect({ servers: server().url });
    closers.push(() => opened.close());
    return opened;
  }

  return { server, open, proxied, connection, manager: async () => jetstreamManager(await connection()) };
}
