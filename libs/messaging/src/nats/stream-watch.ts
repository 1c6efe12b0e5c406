import {
  type ConsumerMessages,
  DeliverPolicy,
  type JetStreamClient,
  type JetStreamManager,
  type JsMsg,
} from '@nats-io/jetstream';
import type { BusLogger, Watch, WatchOptions } from '../event-bus.ts';
import type { NatsLink } from './nats-link.ts';
import type { Stored } from './stream-message.ts';

interface WatchSpec {
  readonly stream: string;
  readonly filter: string;
  readonly options: WatchOptions;
  readonly show: (message: Stored) => void;
}

interface StreamAccess {
  readonly link: Pick<NatsLink, 'onReconnect'>;
  readonly client: JetStreamClient;
  readonly manager: JetStreamManager;
}

/** Number of messages that one consumer delivered. */
interface Progress {
  delivered: number;
}

const PAUSE_MS = 500;
/** Short, because the client detects by missed heartbeats that a restarted server lost its ephemeral consumer. */
const EXPIRES_MS = 4_000;
const HEARTBEAT_MS = 1_000;

/**
 * Ordered consumer that reopens after the last message seen whenever it ends, the connection is replaced, or a message
 * got lost. Messages that were sent on a dead connection count as delivered at the server.
 */
export class StreamWatch implements Watch {
  private messages: ConsumerMessages | undefined;
  private following: Promise<void> | undefined;
  private lastSeen: number | undefined;
  private caughtUp = false;
  private closed = false;
  private completeAt = Number.NEGATIVE_INFINITY;
  private readonly stopListening: () => void;

  constructor(
    private readonly access: StreamAccess,
    private readonly spec: WatchSpec,
    private readonly logger: BusLogger,
  ) {
    this.stopListening = access.link.onReconnect(() => void this.messages?.close());
  }

  get silentMs(): number {
    return performance.now() - this.completeAt;
  }

  async start(): Promise<void> {
    const { from } = this.spec.options;
    if (typeof from === 'number') this.lastSeen = from;
    // Pin "new" to a sequence, so that a reopened consumer does not skip messages.
    if (from === undefined || from === 'new') {
      this.lastSeen = (await this.access.manager.streams.info(this.spec.stream)).state.last_seq;
    }
    this.messages = await this.open();
    this.following = this.follow(this.messages);
  }

  async close(): Promise<void> {
    this.closed = true;
    this.stopListening();
    await this.messages?.close();
    await this.following;
  }

  private async open(): Promise<ConsumerMessages> {
    const start =
      this.lastSeen === undefined
        ? { deliver_policy: DeliverPolicy.LastPerSubject }
        : { deliver_policy: DeliverPolicy.StartSequence, opt_start_seq: this.lastSeen + 1 };
    const { consumers } = this.access.client;
    const consumer = await consumers.get(this.spec.stream, { filter_subjects: this.spec.filter, ...start });
    const { num_pending } = await consumer.info(true);
    const progress: Progress = { delivered: 0 };
    const messages = await consumer.consume({
      expires: EXPIRES_MS,
      idle_heartbeat: HEARTBEAT_MS,
      callback: (message) => this.receive(message, progress),
    });
    void this.listen(messages, progress);
    if (num_pending === 0) this.noteCaughtUp();
    return messages;
  }

  /** Follows the signs of life of a consumer until it is closed. */
  private async listen(messages: ConsumerMessages, progress: Progress): Promise<void> {
    for await (const status of messages.status()) {
      switch (status.type) {
        case 'reset':
          progress.delivered = 0;
          break;
        case 'heartbeat':
          if (status.lastConsumerSequence > progress.delivered) await messages.close();
          else this.noteCaughtUp();
          break;
        default:
      }
    }
  }

  private receive(message: JsMsg, progress: Progress): void {
    if (this.closed) return;
    const { info, data, subject, headers } = message;
    this.lastSeen = info.streamSequence;
    progress.delivered = info.deliverySequence;
    const { stream, streamSequence: sequence } = info;
    const publishedAtMs = Math.floor(info.timestampNanos / 1_000_000);
    this.spec.show({ raw: data, subject, headers, stream, sequence, publishedAtMs, attempt: 1 });
    if (info.pending === 0) this.noteCaughtUp();
  }

  private async follow(first: ConsumerMessages): Promise<void> {
    let current = first;
    for (;;) {
      const ended = await current.closed();
      if (this.closed) return;
      if (ended instanceof Error) {
        this.logger.warn({ err: ended, stream: this.spec.stream, filter: this.spec.filter }, 'watch ended, reopening');
        await pause();
      }
      const next = await this.reopen();
      if (!next) return;
      current = next;
    }
  }

  private async reopen(): Promise<ConsumerMessages | undefined> {
    while (!this.closed) {
      try {
        this.messages = await this.open();
        if (this.closed) await this.messages.close();
        return this.messages;
      } catch (error) {
        this.logger.warn({ err: error, stream: this.spec.stream }, 'reopening a watch failed, will retry');
        await pause();
      }
    }
    return undefined;
  }

  private noteCaughtUp(): void {
    this.completeAt = performance.now();
    if (this.caughtUp) return;
    this.caughtUp = true;
    this.spec.options.onCaughtUp?.();
  }
}

function pause(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
}
