import { startNats } from '@agentlens/testing';
import { eventBusContract } from '../contract/event-bus.contract.ts';
import type { EventBus } from '../event-bus.ts';
import { connectNatsBus } from './connect-nats-bus.ts';

eventBusContract('nats', async () => {
  const server = await startNats();
  const open: EventBus[] = [];
  const replica = async () => {
    const bus = await connectNatsBus({ servers: server.url, name: `contract ${open.length}`, backOffMs: [5, 10] });
    open.push(bus);
    return bus;
  };
  const bus = await replica();
  const stop = async () => {
    await Promise.all(open.map((one) => one.close()));
    await server.stop();
  };
  return { bus, replica, stop };
});
