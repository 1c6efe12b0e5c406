import {
  AckPolicy,
  type ConsumerConfig,
  DeliverPolicy,
  JetStreamApiError,
  type JetStreamManager,
} from '@nats-io/jetstream';
import { createInbox, type Msg, nanos, type Subscription } from '@nats-io/nats-core';
import type { BusLogger } from '../event-bus.ts';
import { ONLY_GROUP } from '../publish/encoded-message.ts';
import { InFlight, type InFlightSlot } from '../util/in-flight.ts';
import { within } from '../util/promises.ts';
import { observeQueue } from '../util/telemetry.ts';
import type { NatsLink } from './nats-link.ts';
import { StreamMessage } from './stream-message.ts';

interface PullSpec {
  readonly stream: string;
  readonly durable: string;
  readonly filter: string;
  /** Messages come to a subject below it. */
  readonly inbox: string;
  readonly ackWaitMs: number;
  /** Most messages held or asked for at once. */
  readonly capacity: number;
}

/** A message that is held until it is settled. */
export type Held = InFlightSlot<StreamMessage>;

const CONSUMER_NOT_FOUND = 10_014;
/** Of the bodies held or asked for at once; messages of the greatest size are a million bytes. */
const MAX_HELD_BYTES = 32 * 1024 * 1024;
const EXPIRES_MS = 30_000;
const HEARTBEAT_MS = 2_000;
const SILENCE_MS = 2.5 * HEARTBEAT_MS;
const PAUSE_MS = 500;
/**
 * How the server says that a request is over as it should be: the next message is more than what is left of `max_bytes`,
 * or, with some of it left, all messages have come.
 */
const USED_UP = /exceeds maxbytes|batch completed/i;
const FLUSH_MS = 1_000;
/** Several replicas hold their fill at once before the broker stops handing out. */
const MAX_ACK_PENDING = 1_000;
const FULL_REPLICAS = 4;

/**
 * A durable consumer's messages, asked for by demand: never more than `capacity` are held here, nor more bytes than a
 * process has room for, so replicas share what is left, and every held message is kept alive while it waits or is
 * handled. The client library's `consume()` gives neither: it refills by arrival, not by completion. The protocol is
 * ADR-37 of NATS.
 */
export class PullConsumer {
  private readonly inbox: string;
  private readonly held = new InFlight<StreamMessage>();
  private readonly ready: Held[] = [];
  private readonly stopFollowing: () => void;
  private subscription: Subscription | undefined;
  private beat: NodeJS.Timeout | undefined;
  private watchdog: NodeJS.Timeout | undefined;
  private heldBytes = 0;
  private asked = 0;
  private askedBytes = 0;
  private heardAt = 0;
  private recovering = false;
  private closing = false;
  private stopObserving: () => void = () => undefined;

  constructor(
    private readonly link: NatsLink,
    private readonly manager: JetStreamManager,
    private readonly spec: PullSpec,
    private readonly logger: BusLogger,
    private readonly onReady: () => void,
  ) {
    this.inbox = createInbox(spec.inbox);
    this.stopFollowing = link.onReconnect(() => void this.recover());
  }

  /** @throws when the consumer cannot be made */
  async start(): Promise<void> {
    await ensureConsumer(this.manager, this.spec);
    const { durable, capacity } = this.spec;
    this.stopObserving = observeQueue({ name: `messages_of_${durable}`, capacity, size: () => this.held.size });
    this.subscription = this.link.connection.subscribe(this.inbox, {
      callback: (error, message) => {
        if (error) this.logger.error({ err: error, group: this.spec.durable }, 'subscription failed');
        else this.receive(message);
      },
    });
    this.beat = setInterval(() => this.keepAlive(), this.spec.ackWaitMs / 2);
    this.watchdog = setInterval(() => this.listen(), HEARTBEAT_MS);
    this.ask();
  }

  /** Up to `most` messages that wait to be handled. */
  take(most: number): Held[] {
    return this.ready.splice(0, most);
  }

  settled(message: Held): void {
    this.letGo(message);
    this.ask();
  }

  /** Asks for nothing more and gives what no handler has begun back to the other replicas. */
  async stop(): Promise<void> {
    this.closing = true;
    this.stopFollowing();
    clearInterval(this.watchdog);
    // First no interest, then the naks: otherwise the broker could hand them to us again.
    const drained = this.subscription?.drain() ?? Promise.resolve();
    await within(FLUSH_MS, drained);
    for (const message of this.ready.splice(0)) this.giveBack(message);
  }

  /** After the last handler: what it said has left this process. */
  async finish(): Promise<void> {
    clearInterval(this.beat);
    this.stopObserving();
    if (this.link.connected) await within(FLUSH_MS, this.link.connection.flush());
  }

  private receive(message: Msg): void {
    this.heardAt = performance.now();
    if (message.subject === this.inbox) {
      this.onStatus(message);
      return;
    }
    this.answered(1, message.data.byteLength);
    const received = new StreamMessage(message);
    const only = message.headers?.get(ONLY_GROUP);
    if (only && only !== this.spec.durable) {
      received.ack();
      this.ask();
      return;
    }
    // A request from before a reconnection may still be answered beside the one that took its place.
    if (this.closing || !this.hasRoomFor(received)) {
      received.retry(0);
      return;
    }
    this.heldBytes += received.raw.byteLength;
    this.ready.push(this.held.add(received));
    this.onReady();
  }

  private onStatus(message: Msg): void {
    const code = message.headers?.code ?? 0;
    // 100 is an idle heartbeat: heard, nothing to do.
    if (code === 100 || this.closing) return;
    this.answered(pendingOf(message, 'Nats-Pending-Messages'), pendingOf(message, 'Nats-Pending-Bytes'));
    const reason = message.headers?.description ?? '';
    if (code === 408 || USED_UP.test(reason)) {
      this.ask();
      return;
    }
    this.logger.warn(
      { group: this.spec.durable, stream: this.spec.stream, code, reason },
      'NATS ended a request for messages',
    );
    setTimeout(() => void this.recover(), PAUSE_MS).unref();
  }

  private ask(): void {
    if (this.closing || !this.link.connected || this.recovering) return;
    const { capacity, stream, durable } = this.spec;
    const batch = capacity - this.held.size - this.asked;
    const bytes = MAX_HELD_BYTES - this.heldBytes - this.askedBytes;
    if (batch < Math.max(1, Math.floor(capacity / 2)) || bytes < MAX_HELD_BYTES / 2) return;
    if (this.asked === 0) this.heardAt = performance.now();
    this.asked += batch;
    this.askedBytes += bytes;
    const until = { expires: nanos(EXPIRES_MS), idle_heartbeat: nanos(HEARTBEAT_MS) };
    const request = JSON.stringify({ batch, max_bytes: bytes, ...until });
    this.link.connection.publish(`$JS.API.CONSUMER.MSG.NEXT.${stream}.${durable}`, request, { reply: this.inbox });
  }

  /** Messages asked for and not even a heartbeat: the request or the consumer is gone. */
  private listen(): void {
    if (this.asked === 0 || !this.link.connected || performance.now() - this.heardAt < SILENCE_MS) return;
    this.logger.warn({ group: this.spec.durable, stream: this.spec.stream }, 'no sign of the consumer, asking again');
    void this.recover();
  }

  private async recover(): Promise<void> {
    if (this.recovering || this.closing) return;
    this.recovering = true;
    try {
      await ensureConsumer(this.manager, this.spec);
      this.link.answered();
    } catch (error) {
      this.link.unanswered();
      this.logger.warn(
        { err: error, group: this.spec.durable, stream: this.spec.stream },
        'consumer is not available yet',
      );
      setTimeout(() => void this.recover(), PAUSE_MS).unref();
      return;
    } finally {
      this.recovering = false;
      this.heardAt = performance.now();
    }
    this.answered(this.asked, this.askedBytes);
    this.ask();
  }

  /** So much of what was asked for has come, or will not. The server counts more bytes to a message than its body. */
  private answered(messages: number, bytes: number): void {
    this.asked = Math.max(0, this.asked - messages);
    this.askedBytes = this.asked === 0 ? 0 : Math.max(0, this.askedBytes - bytes);
  }

  private hasRoomFor({ raw }: StreamMessage): boolean {
    return this.held.size < this.spec.capacity && this.heldBytes + raw.byteLength <= MAX_HELD_BYTES;
  }

  private letGo(message: Held): void {
    if (this.held.delete(message)) this.heldBytes -= message.item.raw.byteLength;
  }

  private keepAlive(): void {
    if (!this.link.connected) return;
    for (const message of this.held) message.working();
  }

  private giveBack(message: Held): void {
    this.letGo(message);
    message.item.retry(0);
  }
}

/** What a request that is over leaves unanswered; all of it where the server does not say. */
function pendingOf(status: Msg, header: string): number {
  const pending = Number.parseInt(status.headers?.get(header) ?? '', 10);
  return Number.isNaN(pending) ? Number.POSITIVE_INFINITY : pending;
}

/** Makes the durable, or changes what may change on it. */
async function ensureConsumer(manager: JetStreamManager, spec: PullSpec): Promise<void> {
  const max_ack_pending = Math.max(MAX_ACK_PENDING, FULL_REPLICAS * spec.capacity);
  const changeable = { ack_wait: nanos(spec.ackWaitMs), max_ack_pending, max_deliver: -1 };
  const existing = await findConsumer(manager, spec);
  if (!existing) {
    const fixed = { durable_name: spec.durable, filter_subject: spec.filter, deliver_policy: DeliverPolicy.All };
    await manager.consumers.add(spec.stream, { ...fixed, ...changeable, ack_policy: AckPolicy.Explicit });
    return;
  }
  if (existing.filter_subject !== spec.filter) {
    throw new Error(
      `group ${spec.durable} consumes ${existing.filter_subject} of ${spec.stream} already: use another group name for ${spec.filter}`,
    );
  }
  const same = existing.ack_wait === changeable.ack_wait && existing.max_ack_pending === max_ack_pending;
  if (!same) await manager.consumers.update(spec.stream, spec.durable, changeable);
}

async function findConsumer(manager: JetStreamManager, spec: PullSpec): Promise<ConsumerConfig | undefined> {
  try {
    return (await manager.consumers.info(spec.stream, spec.durable)).config;
  } catch (error) {
    if (error instanceof JetStreamApiError && error.code === CONSUMER_NOT_FOUND) return undefined;
    throw error;
  }
}
