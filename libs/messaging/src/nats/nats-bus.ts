import { type Command, type DeadLetter, deadLetters, type Topic } from '@agentlens/contracts';
import { JetStreamApiError, type JetStreamClient, type JetStreamManager } from '@nats-io/jetstream';
import { InvalidArgumentError, type MsgHdrs, headers as newHeaders } from '@nats-io/nats-core';
import { BatchPump } from '../consume/batch-pump.ts';
import { BatchRunner, type BrokerDelivery } from '../consume/batch-runner.ts';
import { listDeadLetters, redriveDeadLetter } from '../consume/dead-letters.ts';
import { parseMessage } from '../consume/parse-message.ts';
import {
  type BatchHandler,
  type BusLogger,
  BusUnavailable,
  type ConsumeOptions,
  type ConsumerLag,
  type DeadLetterPage,
  type DeadLetterQuery,
  type EnvelopePage,
  type EventBus,
  NO_LAG,
  type PublishAck,
  type PublishOptions,
  type Received,
  type Subscription,
  type Watch,
  type WatchOptions,
} from '../event-bus.ts';
import {
  type EncodedMessage,
  encodeHeader,
  encodeMessage,
  JSON_CONTENT,
  ONLY_GROUP,
  ORIGINAL_ID,
} from '../publish/encoded-message.ts';
import { InFlight, type InFlightSlot } from '../util/in-flight.ts';
import { within } from '../util/promises.ts';
import { BusMetrics, observeQueue } from '../util/telemetry.ts';
import { requestOverNats, serveOverNats } from './nats-commands.ts';
import type { NatsLink } from './nats-link.ts';
import { AWAY_MS, headersFor, refusalOf, storeMessage } from './publish.ts';
import { type Held, PullConsumer } from './pull-consumer.ts';
import { factsOf, type Stored } from './stream-message.ts';
import { consumerLag, readDeadLetterPage, readEnvelopes } from './stream-reads.ts';
import { StreamWatch } from './stream-watch.ts';
import { READY_WITHIN_MS, whenReady } from './when-ready.ts';

interface NatsBusDependencies {
  readonly link: NatsLink;
  /** Prefix of the subjects on which this connection receives answers and messages. */
  readonly inbox: string;
  readonly client: JetStreamClient;
  readonly manager: JetStreamManager;
  readonly logger: BusLogger;
  readonly publishTimeoutMs: number;
  readonly maxInFlight: number;
  readonly backOffMs?: readonly number[];
}

const DEFAULT_ACK_WAIT_MS = 5_000;
const DRAIN_MS = 2_000;

/** Event bus over NATS: durable topics in JetStream, ephemeral topics and commands over core NATS. */
export class NatsEventBus implements EventBus {
  private readonly metrics = new BusMetrics();
  private readonly open = new Set<Subscription>();
  private readonly inFlight = new InFlight<Promise<unknown>>();
  private readonly stopObserving: () => void;
  private closed = false;

  constructor(private readonly parts: NatsBusDependencies) {
    const size = () => this.inFlight.size;
    this.stopObserving = observeQueue({ name: 'nats_publishes', capacity: parts.maxInFlight, size });
  }

  async publish<T>(topic: Topic<T>, message: T, options?: PublishOptions): Promise<PublishAck> {
    return this.publishEncoded(topic, encodeMessage(topic, message), options);
  }

  async publishEncoded<T>(topic: Topic<T>, message: EncodedMessage, options?: PublishOptions): Promise<PublishAck> {
    const headers = headersFor(message);
    const { subject, body, messageId } = message;
    if (topic.stream === null) return this.send(subject, body, headers);
    try {
      const ack = await this.keep(subject, body, headers, messageId, options?.deadlineMs);
      this.metrics.published(topic.name, ack.duplicate);
      return ack;
    } catch (error) {
      this.metrics.refused(topic.name);
      throw error;
    }
  }

  async consume<T>(topic: Topic<T>, options: ConsumeOptions, handler: BatchHandler<T>): Promise<Subscription> {
    if (topic.stream === null)
      throw new Error(`topic ${topic.name} is ephemeral and has no redelivery: use watch() instead of consume()`);
    const { link, inbox, manager, logger, backOffMs } = this.parts;
    const { group, maxBatch = 1, concurrency = 1, paceMs = 0, ackWaitMs = DEFAULT_ACK_WAIT_MS, lazy } = options;
    const stream = topic.stream;
    const storeDeadLetter = (letter: DeadLetter, sequence: number) => this.storeDeadLetter(letter, sequence);
    const now = () => Date.now();
    const runner = new BatchRunner({
      system: 'nats',
      topic,
      group,
      handler,
      storeDeadLetter,
      metrics: this.metrics,
      logger,
      now,
      backOffMs,
      lazy,
    });
    const spec = { stream, durable: group, filter: topic.pattern(), ackWaitMs, capacity: 2 * maxBatch * concurrency };
    const consumer = new PullConsumer(link, manager, { ...spec, inbox }, logger, () => pump.kick());
    const pump = new BatchPump<Held>(
      (max) => consumer.take(max),
      (batch) => runner.run(batch.map((message) => deliveryOf(message, consumer))),
      { maxBatch, concurrency, paceMs },
    );
    await whenReady(() => consumer.start(), READY_WITHIN_MS, logger);
    const stopObserving = this.metrics.observeLag(topic.name, group, () => this.lag(topic, group));
    return this.opened(async () => {
      stopObserving();
      const handled = pump.close();
      await consumer.stop();
      await handled;
      await consumer.finish();
    });
  }

  async watch<T>(topic: Topic<T>, options: WatchOptions, handler: (message: Received<T>) => void): Promise<Watch> {
    const { link, client, manager, logger } = this.parts;
    const filter = topic.pattern(options.tenantId);
    const show = (message: Stored) => this.show(topic, message, handler);
    if (topic.stream !== null) {
      const spec = { stream: topic.stream, filter, options, show };
      const watch = new StreamWatch({ link, client, manager }, spec, logger);
      await whenReady(() => watch.start(), READY_WITHIN_MS, logger);
      const opened = this.opened(() => watch.close());
      return {
        close: () => opened.close(),
        get silentMs() {
          return watch.silentMs;
        },
      };
    }
    const subscription = link.connection.subscribe(filter, {
      callback: (error, message) => {
        if (error) logger.error({ err: error, topic: topic.name }, 'watch subscription failed');
        else
          show({
            raw: message.data,
            subject: message.subject,
            headers: message.headers,
            stream: '',
            attempt: 1,
            sequence: 0,
            publishedAtMs: Date.now(),
          });
      },
    });
    // Wait until the broker has the subscription.
    await within(DRAIN_MS, link.connection.flush());
    options.onCaughtUp?.();
    const opened = this.opened(async () => subscription.unsubscribe());
    return { close: () => opened.close(), silentMs: Number.POSITIVE_INFINITY };
  }

  async envelopes<T>(topic: Topic<T>, after: number, limit: number): Promise<EnvelopePage> {
    if (topic.stream === null) throw new Error(`topic ${topic.name} is ephemeral and has no stored messages`);
    const { client, manager } = this.parts;
    return readEnvelopes({ client, manager, stream: topic.stream, filter: topic.pattern() }, after, limit);
  }

  request<Q, A>(command: Command<Q, A>, question: Q): Promise<A> {
    return requestOverNats(this.parts.link, command, question);
  }

  async serve<Q, A>(command: Command<Q, A>, handler: (question: Q) => Promise<A>): Promise<Subscription> {
    const { link, logger } = this.parts;
    const subscription = serveOverNats(link, command, handler, logger);
    await within(DRAIN_MS, link.connection.flush());
    return this.opened(() => subscription.close());
  }

  async lag<T>(topic: Topic<T>, group: string): Promise<ConsumerLag> {
    if (topic.stream === null) return NO_LAG;
    return consumerLag(this.parts.manager, topic.stream, group, Date.now());
  }

  deadLetters(group?: string): Promise<readonly DeadLetter[]> {
    return listDeadLetters(this.letterAccess(), group);
  }

  deadLetterPage(query: DeadLetterQuery): Promise<DeadLetterPage> {
    const { client, logger } = this.parts;
    return readDeadLetterPage(client, query, logger);
  }

  redrive(group: string, messageId: string): Promise<boolean> {
    return redriveDeadLetter(this.letterAccess(), group, messageId);
  }

  healthy(): boolean {
    return this.parts.link.connected && !this.closed;
  }

  async close(): Promise<void> {
    if (this.closed) return;
    await Promise.all([...this.open].map((subscription) => subscription.close()));
    await Promise.allSettled(this.inFlight);
    this.closed = true;
    this.metrics.close();
    this.stopObserving();
    const { connection, connected } = this.parts.link;
    if (connected) await within(DRAIN_MS, connection.drain());
    await connection.close();
  }

  /** Best effort: dropped while disconnected. */
  private send(subject: string, body: Uint8Array, headers: MsgHdrs): PublishAck {
    if (this.parts.link.connected) this.parts.link.connection.publish(subject, body, { headers });
    return { sequence: 0, duplicate: false };
  }

  /** @throws BusUnavailable */
  private async keep(
    subject: string,
    body: Uint8Array,
    headers: MsgHdrs,
    id?: string,
    deadlineMs?: number,
  ): Promise<PublishAck> {
    const { link, client, publishTimeoutMs, maxInFlight } = this.parts;
    // Checked first, because the client would buffer the message and send it after this call has failed.
    if (this.closed || !link.connected) throw new BusUnavailable('NATS is away', AWAY_MS);
    if (this.inFlight.size >= maxInFlight) throw new BusUnavailable('too many publishes are waiting for NATS', AWAY_MS);
    const timeout = deadlineMs ?? publishTimeoutMs;
    const msgID = id === undefined ? undefined : encodeHeader(id);
    let place: InFlightSlot<Promise<unknown>> | undefined;
    const lost = Promise.withResolvers<never>();
    // An acknowledgement never arrives over a new connection.
    const stop = link.onLost(() => lost.reject(new Error('connection lost')));
    try {
      const publish = storeMessage(client, { subject, body, headers, timeout, msgID });
      place = this.inFlight.add(publish);
      const { seq, duplicate } = await Promise.race([publish, lost.promise]);
      link.answered();
      return { sequence: seq, duplicate };
    } catch (error) {
      if (!(error instanceof JetStreamApiError || error instanceof InvalidArgumentError)) link.unanswered();
      throw refusalOf(error, subject);
    } finally {
      stop();
      if (place) this.inFlight.delete(place);
    }
  }

  private async storeDeadLetter(letter: DeadLetter, sequence: number): Promise<void> {
    const headers = newHeaders();
    headers.set('content-type', JSON_CONTENT);
    // With the sequence, a message that fails again after a redrive becomes a new letter.
    const id = `${deadLetters.messageId(letter)}:${sequence}`;
    await this.keep(deadLetters.subject(letter), Buffer.from(JSON.stringify(letter)), headers, id);
  }

  private letterAccess() {
    return {
      watch: this.watch.bind(this),
      remove: (sequence: number) => this.parts.manager.streams.deleteMessage('DEAD_LETTERS', sequence, false),
      resend: (letter: DeadLetter) => {
        const headers = newHeaders();
        headers.set('content-type', JSON_CONTENT);
        headers.set(ONLY_GROUP, letter.group);
        headers.set(ORIGINAL_ID, encodeHeader(letter.messageId));
        return this.keep(letter.subject, Buffer.from(letter.body, 'base64'), headers);
      },
    };
  }

  private show<T>(topic: Topic<T>, message: Stored, handler: (message: Received<T>) => void): void {
    const { logger } = this.parts;
    if (message.headers?.has(ONLY_GROUP)) return;
    const facts = factsOf(message);
    const parsed = parseMessage(topic, message.sequence === 0 ? { ...facts, messageId: '' } : facts);
    if (!parsed.ok) {
      logger.error(
        { topic: topic.name, messageId: facts.messageId, reason: parsed.reason },
        'skipped invalid message in watch',
      );
      return;
    }
    try {
      handler(parsed.message);
    } catch (error) {
      logger.error({ err: error, topic: topic.name, messageId: facts.messageId }, 'watcher threw');
    }
  }

  private opened(close: () => Promise<void>): Subscription {
    let closing: Promise<void> | undefined;
    const subscription: Subscription = {
      close: () => {
        closing ??= close().finally(() => this.open.delete(subscription));
        return closing;
      },
    };
    this.open.add(subscription);
    return subscription;
  }
}

function deliveryOf(held: Held, consumer: PullConsumer): BrokerDelivery {
  const message = held.item;
  const settle = (answer: () => void) => {
    answer();
    consumer.settled(held);
  };
  return {
    ...factsOf(message),
    ack: () => settle(() => message.ack()),
    retry: (afterMs) => settle(() => message.retry(afterMs)),
    discard: () => settle(() => message.terminate()),
  };
}
