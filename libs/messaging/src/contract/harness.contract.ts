import type { Trigger } from '@agentlens/contracts';
import { afterEach, beforeEach } from '@jest/globals';
import { ACK, type BatchHandler, type EventBus, type HandlingOutcome, type Received } from '../event-bus.ts';

export interface BusUnderTest {
  readonly bus: EventBus;
  /** The bus as another replica of the service sees it; the same object if there is only one process. */
  readonly replica: () => Promise<EventBus>;
  readonly stop: () => Promise<void>;
}

export type StartBus = () => Promise<BusUnderTest>;

/** Creates a new bus for each test of the enclosing describe. */
export function freshBus(start: StartBus): () => BusUnderTest {
  let current: BusUnderTest | undefined;
  beforeEach(async () => {
    current = await start();
  });
  afterEach(async () => {
    await current?.stop();
    current = undefined;
  });
  return () => {
    if (!current) throw new Error('the bus is started by beforeEach');
    return current;
  };
}

/** A handler that records messages and returns the given outcomes; acknowledges by default. */
export function recorder<T = Trigger>(
  answer: (message: Received<T>) => HandlingOutcome | Promise<HandlingOutcome> = () => ACK,
) {
  const seen: Received<T>[] = [];
  const batches: number[] = [];
  const handler: BatchHandler<T> = async (messages) => {
    seen.push(...messages);
    batches.push(messages.length);
    return Promise.all(messages.map(async (message) => answer(message)));
  };
  return { handler, seen, batches, ids: () => seen.map((message) => message.messageId) };
}

/** A promise that a test resolves by hand. */
export function gate(): { readonly opened: Promise<void>; readonly open: () => void } {
  let open: () => void = () => undefined;
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open: () => open() };
}
