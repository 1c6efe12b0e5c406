import { factsOfBatch, timeOrderedId } from '@agentlens/contracts';
import { settleAll } from '@agentlens/messaging';
import type { Arrival, IdentifiedEvent } from '../intake/identity.ts';
import type { BatchPublisher } from './batch-publisher.ts';
import { FULL_MESSAGE, type MessageCoalescer } from './message-coalescer.ts';
import { type MessagePart, messageIdOf, messageParts, outgoing } from './messages.ts';

/**
 * With an Idempotency-Key, this many events get their own message, so that the broker recognises a retry of the whole
 * request.
 */
const KEYED_MESSAGE = 100;

/** Publishes accepted events and resolves when every one of them is safe. */
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

  /** @throws BusUnavailable if some are not safe; the other events of the request may be */
  async pass(arrival: Arrival, events: readonly IdentifiedEvent[]): Promise<void> {
    const parts = messageParts(arrival.tenantId, events);
    const [only] = parts;
    if (only !== undefined && parts.length === 1) return this.#publish(arrival, only);
    await settleAll(parts.map((part) => this.#publish(arrival, part)));
  }

  #publish(arrival: Arrival, part: MessagePart): Promise<void> {
    const { key, receivedAtMs } = arrival;
    // A retry of fewer events goes into another message; its events are recognised by their ids.
    if (part.events.length < (key === undefined ? FULL_MESSAGE : KEYED_MESSAGE)) return this.coalescer.add(part);
    if (key !== undefined) return this.#alone(part, messageIdOf(part, key, receivedAtMs), receivedAtMs);
    const nowMs = this.now();
    return this.#alone(part, timeOrderedId(nowMs), nowMs);
  }

  #alone({ tenantId, partition, events, texts, bytes }: MessagePart, id: string, receivedAtMs: number): Promise<void> {
    const facts = factsOfBatch({ receivedAt: new Date(receivedAtMs).toISOString(), events });
    return this.publisher.publish(outgoing({ id, tenantId, partition, ...facts }, texts, bytes));
  }

  /** Sends what is waiting and waits for the messages in flight. */
  async drain(): Promise<void> {
    this.coalescer.flush();
    await this.publisher.drain();
  }
}
