import { factsOfBatch, timeOrderedId } from '@agentlens/contracts';
import { settleAll } from '@agentlens/messaging';
import type { Arrival, IdentifiedEvent } from '../intake/identity.ts';
import type { BatchPublisher } from './batch-publisher.ts';
import { FULL_MESSAGE, type MessageCoalescer } from './message-coalescer.ts';
import { type MessagePart, messageIdOf, messageParts } from './message-parts.ts';
import { outgoing } from './outgoing-batch.ts';

/** Under a key so many events are a message of their own: the broker then knows a retry of the whole request. */
const KEYED_MESSAGE = 100;

/** Hands accepted events on, and resolves when every one of them is safe. */
export class EventPublisher {
  constructor(
    private readonly publisher: Pick<BatchPublisher, 'publish' | 'saturated' | 'oldestMs' | 'drain'>,
    private readonly coalescer: Pick<MessageCoalescer, 'add' | 'flush'>,
    private readonly now: () => number,
  ) {}

  get saturated(): boolean {
    return this.publisher.saturated;
  }

  get oldestMs(): number {
    return this.publisher.oldestMs;
  }

  /** @throws BusUnavailable when some are not safe; the others of the request may be. */
  async pass(arrival: Arrival, events: readonly IdentifiedEvent[]): Promise<void> {
    const parts = messageParts(arrival.tenantId, events);
    const [only] = parts;
    if (only !== undefined && parts.length === 1) return this.#publish(arrival, only);
    await settleAll(parts.map((part) => this.#publish(arrival, part)));
  }

  #publish(arrival: Arrival, part: MessagePart): Promise<void> {
    const { key, receivedAtMs } = arrival;
    // A retry of fewer comes in another message; its events are known by their ids, as those with ids of a client.
    if (part.events.length < (key === undefined ? FULL_MESSAGE : KEYED_MESSAGE)) return this.coalescer.add(part);
    if (key !== undefined) return this.#alone(part, messageIdOf(part, key, receivedAtMs), receivedAtMs);
    const nowMs = this.now();
    return this.#alone(part, timeOrderedId(nowMs), nowMs);
  }

  #alone({ tenantId, partition, events, texts, bytes }: MessagePart, id: string, receivedAtMs: number): Promise<void> {
    const facts = factsOfBatch({ receivedAt: new Date(receivedAtMs).toISOString(), events });
    return this.publisher.publish(outgoing({ id, tenantId, partition, ...facts }, texts, bytes));
  }

  /** Sends what waits and waits for what is on its way. */
  async drain(): Promise<void> {
    this.coalescer.flush();
    await this.publisher.drain();
  }
}
