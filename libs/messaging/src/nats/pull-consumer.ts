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
  /** Prefix of the subject that messages are delivered to. */
  readonly inbox: string;
  readonly ackWaitMs: number;
  /** Maximum number of messages held or requested. */
  readonly capacity: number;
}

/** A message that is held until it is settled. */
export type Held = InFlightSlot<StreamMessage>;

const CONSUMER_NOT_FOUND = 10_014;
/** Limit for bodies held or requested. The largest message is about a million bytes. */
const MAX_HELD_BYTES = 32 * 1024 * 1024;
const EXPIRES_MS = 30_000;
const HEARTBEAT_MS = 2_000;
const SILENCE_MS = 2.5 * HEARTBEAT_MS;
const PAUSE_MS = 500;
/**
 * Status texts with which the server ends a request normally: the next message exceeds the remaining `max_bytes`, or
 * all requested messages were delivered.
 */
const USED_UP = /exceeds maxbytes|batch completed/i;
const FLUSH_MS = 1_000;
/** Number of replicas that can hold their full capacity before the broker stops delivering. */
const MAX_ACK_PENDING = 1_000;
const FULL_REPLICAS = 4;

/**
 * Pulls messages of a durable consumer by demand. It never holds more than `capacity` messages or its byte limit, so
 * replicas share the rest, and it extends the ack wait of every message it holds. The client's `consume()` does
 * neither: it refills on arrival, not on completion. The protocol is ADR-37 of NATS.
 */
export class PullConsumer {
  private readonly inbox: string;
  private readonly held = new InFlight<StreamMessage>();
  private readonly ready: Held[] = [];
  private readonly stopFollowing: () => void;
  private subscription: Subscription | undefined;
  private keepAliveTimer: NodeJS.Timeout | undefined;
  private watchdog: NodeJS.Timeout | undefined;
  private heldBytes = 0;
  private requested = 0;
  private requestedBytes = 0;
  private lastHeardAt = 0;
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

  /** @throws if the consumer cannot be created */
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
    this.keepAliveTimer = setInterval(() => this.keepAlive(), this.spec.ackWaitMs / 2);
    this.watchdog = setInterval(() => this.checkHeartbeat(), HEARTBEAT_MS);
    this.pull();
  }

  /** Takes up to `max` messages that are ready to be handled. */
  take(max: number): Held[] {
    return this.ready.splice(0, max);
  }

  settled(message: Held): void {
    this.release(message);
    this.pull();
  }

  /** Stops requesting and returns messages that no handler has started to the other replicas. */
  async stop(): Promise<void> {
    this.closing = true;
    this.stopFollowing();
    clearInterval(this.watchdog);
    // Unsubscribe before the naks, or the broker could redeliver them to this replica.
    const drained = this.subscription?.drain() ?? Promise.resolve();
    await within(FLUSH_MS, drained);
    for (const message of this.ready.splice(0)) this.returnToBroker(message);
  }

  /** Call after the last handler; flushes its acknowledgements. */
  async finish(): Promise<void> {
    clearInterval(this.keepAliveTimer);
    this.stopObserving();
    if (this.link.connected) await within(FLUSH_MS, this.link.connection.flush());
  }

  private receive(message: Msg): void {
    this.lastHeardAt = performance.now();
    if (message.subject === this.inbox) {
      this.onStatus(message);
      return;
    }
    this.subtract(1, message.data.byteLength);
    const received = new StreamMessage(message);
    const only = message.headers?.get(ONLY_GROUP);
    if (only && only !== this.spec.durable) {
      received.ack();
      this.pull();
      return;
    }
    // A request from before a reconnect may be answered in addition to its replacement.
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
    // 100 is an idle heartbeat.
    if (code === 100 || this.closing) return;
    this.subtract(pendingOf(message, 'Nats-Pending-Messages'), pendingOf(message, 'Nats-Pending-Bytes'));
    const reason = message.headers?.description ?? '';
    if (code === 408 || USED_UP.test(reason)) {
      this.pull();
      return;
    }
    this.logger.warn({ group: this.spec.durable, stream: this.spec.stream, code, reason }, 'NATS ended a pull request');
    setTimeout(() => void this.recover(), PAUSE_MS).unref();
  }

  private pull(): void {
    if (this.closing || !this.link.connected || this.recovering) return;
    const { capacity, stream, durable } = this.spec;
    const batch = capacity - this.held.size - this.requested;
    const bytes = MAX_HELD_BYTES - this.heldBytes - this.requestedBytes;
    if (batch < Math.max(1, Math.floor(capacity / 2)) || bytes < MAX_HELD_BYTES / 2) return;
    if (this.requested === 0) this.lastHeardAt = performance.now();
    this.requested += batch;
    this.requestedBytes += bytes;
    const until = { expires: nanos(EXPIRES_MS), idle_heartbeat: nanos(HEARTBEAT_MS) };
    const request = JSON.stringify({ batch, max_bytes: bytes, ...until });
    this.link.connection.publish(`$JS.API.CONSUMER.MSG.NEXT.${stream}.${durable}`, request, { reply: this.inbox });
  }

  /** Requested messages but received not even a heartbeat: the request or the consumer was lost. */
  private checkHeartbeat(): void {
    if (this.requested === 0 || !this.link.connected || performance.now() - this.lastHeardAt < SILENCE_MS) return;
    this.logger.warn(
      { group: this.spec.durable, stream: this.spec.stream },
      'no heartbeat from the consumer, recovering',
    );
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
        'consumer is not available yet, will retry',
      );
      setTimeout(() => void this.recover(), PAUSE_MS).unref();
      return;
    } finally {
      this.recovering = false;
      this.lastHeardAt = performance.now();
    }
    this.subtract(this.requested, this.requestedBytes);
    this.pull();
  }

  /** Subtracts what was delivered or will not be. The server counts more bytes per message than its body. */
  private subtract(messages: number, bytes: number): void {
    this.requested = Math.max(0, this.requested - messages);
    this.requestedBytes = this.requested === 0 ? 0 : Math.max(0, this.requestedBytes - bytes);
  }

  private hasRoomFor({ raw }: StreamMessage): boolean {
    return this.held.size < this.spec.capacity && this.heldBytes + raw.byteLength <= MAX_HELD_BYTES;
  }

  private release(message: Held): void {
    if (this.held.delete(message)) this.heldBytes -= message.item.raw.byteLength;
  }

  private keepAlive(): void {
    if (!this.link.connected) return;
    for (const message of this.held) message.working();
  }

  private returnToBroker(message: Held): void {
    this.release(message);
    message.item.retry(0);
  }
}

/** The undelivered part of a finished request; everything if the server does not say. */
function pendingOf(status: Msg, header: string): number {
  const pending = Number.parseInt(status.headers?.get(header) ?? '', 10);
  return Number.isNaN(pending) ? Number.POSITIVE_INFINITY : pending;
}

/** Creates the durable consumer or updates its mutable settings. */
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
      `group ${spec.durable} already consumes ${existing.filter_subject} of ${spec.stream}: use another group name for ${spec.filter}`,
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
