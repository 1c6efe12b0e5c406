import { BatchPump } from '../consume/batch-pump.ts';
import type { BatchRunner, BrokerDelivery } from '../consume/batch-runner.ts';
import type { ConsumeOptions, ConsumerLag, Subscription } from '../event-bus.ts';
import { Fifo } from '../util/fifo.ts';
import { InFlight, type InFlightSlot } from '../util/in-flight.ts';
import type { StoredMessage } from './message-log.ts';

export interface QueueLimits {
  readonly messages: number;
  readonly bytes: number;
}

interface Queued {
  attempt: number;
  readonly place: InFlightSlot<StoredMessage>;
  readonly settle: () => void;
}

/**
 * Durable consumer group: a bounded queue shared by its replicas. It outlives them, like a durable consumer in NATS.
 */
export class ConsumerGroup {
  private readonly ready = new Fifo<Queued>();
  private readonly unsettled = new InFlight<StoredMessage>();
  /** Publish times of the n newest messages, where n is the number of unsettled messages. */
  private readonly backlog = new Fifo<number>();
  private readonly retryTimers = new Set<NodeJS.Timeout>();
  private readonly replicas = new Set<BatchPump<BrokerDelivery>>();
  private bytes = 0;
  private redelivered = 0;
  private closed = false;

  constructor(
    readonly name: string,
    readonly pattern: string,
    private readonly limits: QueueLimits,
    private readonly now: () => number,
  ) {}

  hasRoomFor(bytes: number): boolean {
    return this.unsettled.size < this.limits.messages && this.bytes + bytes <= this.limits.bytes;
  }

  offer(message: StoredMessage, settle: () => void): void {
    this.backlog.push(message.publishedAtMs);
    this.bytes += message.raw.byteLength;
    this.enqueue({ attempt: 0, place: this.unsettled.add(message), settle });
  }

  join<T>(runner: BatchRunner<T>, options: ConsumeOptions): Subscription {
    const { maxBatch = 1, concurrency = 1 } = options;
    const pump = new BatchPump<BrokerDelivery>(
      (max) => this.ready.take(max).map((queued) => this.deliver(queued)),
      (batch) => runner.run(batch),
      // No pace: a publish waits until its message is settled.
      { maxBatch, concurrency, paceMs: 0 },
    );
    this.replicas.add(pump);
    pump.kick();
    return {
      close: async () => {
        this.replicas.delete(pump);
        await pump.close();
        this.kick();
      },
    };
  }

  lag(): ConsumerLag {
    return {
      pending: this.ready.length,
      unacknowledged: this.unsettled.size - this.ready.length,
      redelivered: this.redelivered,
      oldestAgeMs: this.ageOf(this.unsettled.oldest?.publishedAtMs),
      backlogAgeMs: this.ageOf(this.backlog.first),
    };
  }

  /** Waits for running handlers. Queued messages stay unsettled. */
  async close(): Promise<void> {
    this.closed = true;
    for (const timer of this.retryTimers) clearTimeout(timer);
    await Promise.all([...this.replicas].map((pump) => pump.close()));
  }

  private ageOf(publishedAtMs: number | undefined): number {
    return publishedAtMs === undefined ? 0 : Math.max(0, this.now() - publishedAtMs);
  }

  private deliver(queued: Queued): BrokerDelivery {
    queued.attempt += 1;
    if (queued.attempt === 2) this.redelivered += 1;
    const { attempt, place } = queued;
    const message = place.item;
    const done = () => {
      if (!this.unsettled.delete(place)) return;
      this.backlog.shift();
      this.bytes -= message.raw.byteLength;
      if (queued.attempt > 1) this.redelivered -= 1;
      queued.settle();
    };
    const { raw, subject, messageId, sequence, publishedAtMs, headers } = message;
    const facts = { raw, subject, messageId, attempt, sequence, publishedAtMs, headers };
    return { ...facts, ack: done, discard: done, retry: (afterMs) => this.retryLater(queued, afterMs) };
  }

  private retryLater(queued: Queued, afterMs: number): void {
    if (this.closed) return;
    const timer = setTimeout(() => {
      this.retryTimers.delete(timer);
      this.enqueue(queued);
    }, afterMs);
    this.retryTimers.add(timer);
  }

  private enqueue(queued: Queued): void {
    this.ready.push(queued);
    this.kick();
  }

  /** Moves the first replica to the end, so that idle replicas take turns. */
  private kick(): void {
    const [first] = this.replicas;
    if (first && this.replicas.size > 1) {
      this.replicas.delete(first);
      this.replicas.add(first);
    }
    for (const pump of this.replicas) pump.kick();
  }
}
