import { connectNatsBus, type EventBus } from '@agentlens/messaging';
import type { Host } from '../../context.ts';
import { natsAddress, natsUnreachable } from '../../settings/nats-address.ts';

export type DeadLetterRow = Awaited<ReturnType<EventBus['deadLetters']>>[number];

const CONNECT_MS = 3_000;

/** Does something with the broker of a distributed platform, and leaves it. */
export async function withBus<T>({ folder, env }: Host, work: (bus: EventBus) => Promise<T>): Promise<T> {
  const address = natsAddress(folder, env);
  const bus = await connectTo(address);
  try {
    return await work(bus);
  } finally {
    await bus.close();
  }
}

async function connectTo(address: string): Promise<EventBus> {
  try {
    return await connectNatsBus({ servers: address.split(','), name: 'dead-letters', connectTimeoutMs: CONNECT_MS });
  } catch (error) {
    throw natsUnreachable(address, error);
  }
}
