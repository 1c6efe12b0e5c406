import {
  type ConsumerMessages,
  DeliverPolicy,
  type JetStreamClient,
  type JetStreamManager,
  type JsMsg,
} from '@nats-io/jetstream';
import type { BusLogger, Subscription, WatchOptions } from '../event-bus.ts';
import type { Stored } from './stream-message.ts';

interface WatchSpec {
  readonly stream: string;
  readonly filter: string;
  readonly options: WatchOptions;
  readonly show: (message: Stored) => void;
}

const PAUSE_MS = 500;
/** Short, because the client detects by missed heartbeats that a restarted server lost its ephemeral consumer. */
const EXPIRES_MS = 4_000;

/** Ordered consumer that reopens after the last message seen whenever it ends. */
export class StreamWatch implements Subscription {
  private messages: ConsumerMessages | undefined;
  private following: Promise<void> | undefined;
  private lastSeen: number | undefined;
  private caughtUp = false;
  private closed = false;

  constructor(
    private readonly client: JetStreamClient,
    private readonly manager: JetStreamManager,
    private readonly spec: WatchSpec,
    private readonly logger: BusLogger,
  ) {}

  async start(): Promise<void> {
    const { from } = this.spec.options;
    if (typeof from === 'number') this.lastSeen = from;
    // Pin "new" to a sequence, so that a reopened consumer does not skip messages.
    if (from === undefined || from === 'new') {
      this.lastSeen = (await this.manager.streams.info(this.spec.stream)).state.last_seq;
    }
    this.messages = await this.open();
    this.following = this.follow(this.messages);
  }

  async close(): Promise<void> {
    this.closed = true;
    await this.messages?.close();
    await this.following;
  }

  private async open(): Promise<ConsumerMessages> {
    const start =
      this.lastSeen === undefined
        ? { deliver_policy: DeliverPolicy.LastPerSubject }
        : { deliver_policy: DeliverPolicy.StartSequence, opt_start_seq: this.lastSeen + 1 };
    const consumer = await this.client.consumers.get(this.spec.stream, { filter_subjects: this.spec.filter, ...start });
    const { num_pending } = await consumer.info(true);
    const messages = await consumer.consume({ expires: EXPIRES_MS, callback: (message) => this.receive(message) });
    if (num_pending === 0) this.noteCaughtUp();
    return messages;
  }

  private receive(message: JsMsg): void {
    if (this.closed) return;
    const { info, data, subject, headers } = message;
    this.lastSeen = info.streamSequence;
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
      this.logger.warn({ err: ended, stream: this.spec.stream, filter: this.spec.filter }, 'watch ended, reopening');
      const next = await this.reopen();
      if (!next) return;
      current = next;
    }
  }

  private async reopen(): Promise<ConsumerMessages | undefined> {
    while (!this.closed) {
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
      try {
        this.messages = await this.open();
        if (this.closed) await this.messages.close();
        return this.messages;
      } catch (error) {
        this.logger.warn({ err: error, stream: this.spec.stream }, 'reopening a watch failed, will retry');
      }
    }
    return undefined;
  }

  private noteCaughtUp(): void {
    if (this.caughtUp) return;
    this.caughtUp = true;
    this.spec.options.onCaughtUp?.();
  }
}
