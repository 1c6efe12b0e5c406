import { type Command, type DeadLetter, deadLetters, type StreamName, type Topic } from '@agentlens/contracts';
import { answerQuestion, encodeQuestion, readAnswer } from '../commands/command-wire.ts';
import { BatchRunner } from '../consume/batch-runner.ts';
import { listDeadLetters, parseLetter, redriveDeadLetter } from '../consume/dead-letters.ts';
import { parseMessage } from '../consume/parse-message.ts';
import {
  type BatchHandler,
  type BusLogger,
  CommandUnanswered,
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
  SILENT,
  type Subscription,
  type Watch,
  type WatchOptions,
} from '../event-bus.ts';
import { type EncodedMessage, encodeMessage, JSON_CONTENT } from '../publish/encoded-message.ts';
import { BackgroundWork } from '../util/in-flight.ts';
import { withTimeout } from '../util/promises.ts';
import { BusMetrics, injectTrace } from '../util/telemetry.ts';
import type { QueueLimits } from './consumer-group.ts';
import { MemoryStreams } from './memory-streams.ts';
import type { LogLimits, StoredMessage } from './message-log.ts';
import { streamOf, subjectMatches } from './subject-matches.ts';

export interface MemoryBusOptions {
  readonly clock?: { now(): number };
  readonly logger?: BusLogger;
  /** How long a publish waits for every group to settle its message, ms. */
  readonly publishDeadlineMs?: number;
  /** Maximum unsettled messages and bytes of one group; beyond that, publishing is rejected. */
  readonly queue?: QueueLimits;
  /** History to keep per stream: bodies for watchers and late groups, envelopes for the audit. */
  readonly history?: LogLimits;
  readonly backOffMs?: readonly number[];
  /** How long `close` waits for unsettled messages, ms. */
  readonly drainMs?: number;
}

const MEBIBYTE = 1024 ** 2;
const DEFAULT_DEADLINE_MS = 5_000;
const DEFAULT_QUEUE: QueueLimits = { messages: 10_000, bytes: 64 * MEBIBYTE };
const DEFAULT_HISTORY: LogLimits = { messages: 4_096, bytes: 16 * MEBIBYTE };
/**
 * Agent events are nearly all of the traffic. Under load any limit covers only seconds, and screens resume from less.
 */
const EVENT_HISTORY: LogLimits = { messages: 4_096, bytes: 6 * MEBIBYTE };
const DRAIN_MS = 3_000;

/** Creates the bus for standalone mode, which runs in one process. */
export function createMemoryBus(options: MemoryBusOptions = {}): EventBus {
  return new MemoryEventBus(options);
}

type Headers = Readonly<Record<string, string>>;
type Watcher = (message: StoredMessage) => void;

/**
 * Behaves like the broker as far as one process can: messages are bytes, groups are independent, ids are deduplicated,
 * and failures are retried on the same schedule. One promise differs: a publish resolves when every group has settled
 * the message, because nothing is stored on disk.
 */
class MemoryEventBus implements EventBus {
  private readonly watchers = new Map<StreamName | null, Set<Watcher>>();
  private readonly metrics = new BusMetrics();
  private readonly commands: MemoryCommands;
  private readonly logger: BusLogger;
  private readonly now: () => number;
  private readonly streams: MemoryStreams;

  constructor(private readonly options: MemoryBusOptions) {
    const clock = options.clock ?? Date;
    this.now = () => clock.now();
    this.logger = options.logger ?? SILENT;
    this.commands = new MemoryCommands(this.logger);
    const limits = {
      publishDeadlineMs: options.publishDeadlineMs ?? DEFAULT_DEADLINE_MS,
      queue: options.queue ?? DEFAULT_QUEUE,
      historyOf: (stream: StreamName) =>
        options.history ?? (stream === 'AGENT_EVENTS' ? EVENT_HISTORY : DEFAULT_HISTORY),
      drainMs: options.drainMs ?? DRAIN_MS,
    };
    this.streams = new MemoryStreams(limits, this.now, (stream, message) => this.notifyWatchers(stream, message));
  }

  async publish<T>(topic: Topic<T>, message: T, options?: PublishOptions): Promise<PublishAck> {
    return this.publishEncoded(topic, encodeMessage(topic, message), options);
  }

  async publishEncoded<T>(topic: Topic<T>, message: EncodedMessage, options?: PublishOptions): Promise<PublishAck> {
    const { subject, messageId: id, body: raw } = message;
    const headers: Record<string, string> = { 'content-type': JSON_CONTENT, ...message.headers };
    injectTrace(headers, (carrier, key, value) => {
      carrier[key] = value;
    });
    if (topic.stream === null) return this.broadcast(subject, raw, headers);
    try {
      const outgoing = { subject, raw, headers, messageId: id ?? '', brokerId: id };
      const ack = await this.streams.keep(topic.stream, outgoing, options?.deadlineMs);
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
    const group = this.streams.group(topic.stream, options.group, topic.pattern());
    const { metrics, logger, now } = this;
    const storeDeadLetter = (letter: DeadLetter, sequence: number) => this.storeDeadLetter(letter, sequence);
    const backOffMs = this.options.backOffMs;
    const parts = {
      system: 'memory',
      topic,
      group: options.group,
      handler,
      storeDeadLetter,
      metrics,
      logger,
      now,
      backOffMs,
      lazy: options.lazy,
    } as const;
    const subscription = group.join(new BatchRunner(parts), options);
    const stopObserving = metrics.observeLag(topic.name, options.group, () => Promise.resolve(group.lag()));
    return {
      close: async () => {
        stopObserving();
        await subscription.close();
      },
    };
  }

  async watch<T>(topic: Topic<T>, options: WatchOptions, handler: (message: Received<T>) => void): Promise<Watch> {
    const pattern = topic.pattern(options.tenantId);
    let open = true;
    // Delivered asynchronously and in order, so that a slow watcher never delays a publish.
    const show: Watcher = (message) => {
      if (!subjectMatches(pattern, message.subject) || message.onlyGroup !== undefined) return;
      queueMicrotask(() => {
        if (open) this.deliver(topic, message, handler);
      });
    };
    for (const message of this.history(topic.stream, options.from ?? 'new')) show(message);
    const onCaughtUp = options.onCaughtUp;
    if (onCaughtUp) queueMicrotask(onCaughtUp);
    const watchers = this.watchers.get(topic.stream) ?? new Set<Watcher>();
    this.watchers.set(topic.stream, watchers.add(show));
    return {
      silentMs: 0,
      close: async () => {
        open = false;
        watchers.delete(show);
      },
    };
  }

  async envelopes<T>(topic: Topic<T>, after: number, limit: number): Promise<EnvelopePage> {
    if (topic.stream === null) throw new Error(`topic ${topic.name} is ephemeral and has no stored messages`);
    const log = this.streams.log(topic.stream);
    const read = log
      .pastAfter(after)
      .filter(({ subject }) => subjectMatches(topic.pattern(), subject))
      .slice(0, limit);
    const newest = log.newestSequence;
    return {
      envelopes: read.filter(({ onlyGroup }) => onlyGroup === undefined),
      scanned: read.length,
      upTo: read.length === limit ? (read.at(-1)?.sequence ?? after) : newest,
      newest,
    };
  }

  request<Q, A>(command: Command<Q, A>, question: Q): Promise<A> {
    return this.commands.request(command, question);
  }

  async serve<Q, A>(command: Command<Q, A>, handler: (question: Q) => Promise<A>): Promise<Subscription> {
    return this.commands.serve(command, handler);
  }

  async lag<T>(topic: Topic<T>, group: string): Promise<ConsumerLag> {
    const known = topic.stream === null ? undefined : this.streams.knownGroup(topic.stream, group);
    return known?.lag() ?? NO_LAG;
  }

  deadLetters(group?: string): Promise<readonly DeadLetter[]> {
    return listDeadLetters(this.letterAccess(), group);
  }

  async deadLetterPage({ tenantId, after, limit }: DeadLetterQuery): Promise<DeadLetterPage> {
    const kept = this.streams
      .log('DEAD_LETTERS')
      .after(after)
      .filter(({ subject }) => subjectMatches(deadLetters.pattern(tenantId), subject));
    const page = kept.slice(0, limit);
    const letters = page.flatMap((message) => parseLetter({ ...message, attempt: 1 }, this.logger));
    return { letters, upTo: page.at(-1)?.sequence ?? after, remaining: kept.length - page.length };
  }

  redrive(group: string, messageId: string): Promise<boolean> {
    return redriveDeadLetter(this.letterAccess(), group, messageId);
  }

  healthy(): boolean {
    return !this.streams.closed;
  }

  async close(): Promise<void> {
    await this.commands.close();
    await this.streams.close();
    this.metrics.close();
    this.watchers.clear();
  }

  private broadcast(subject: string, raw: Uint8Array, headers: Headers): PublishAck {
    const message = { subject, raw, headers, messageId: '', sequence: 0, publishedAtMs: this.now() };
    this.notifyWatchers(null, message);
    return { sequence: 0, duplicate: false };
  }

  private notifyWatchers(stream: StreamName | null, message: StoredMessage): void {
    for (const show of this.watchers.get(stream) ?? []) show(message);
  }

  private history(stream: StreamName | null, from: 'new' | 'last' | number): StoredMessage[] {
    if (stream === null || from === 'new') return [];
    const log = this.streams.log(stream);
    return from === 'last' ? log.newestPerSubject() : log.after(from);
  }

  private deliver<T>(topic: Topic<T>, message: StoredMessage, handler: (message: Received<T>) => void): void {
    const parsed = parseMessage(topic, { ...message, attempt: 1 });
    if (!parsed.ok) {
      this.logger.error(
        { topic: topic.name, messageId: message.messageId, reason: parsed.reason },
        'skipped invalid message in watch',
      );
      return;
    }
    try {
      handler(parsed.message);
    } catch (error) {
      this.logger.error({ err: error, topic: topic.name, messageId: message.messageId }, 'watcher threw');
    }
  }

  private async storeDeadLetter(letter: DeadLetter, sequence: number): Promise<void> {
    // With the sequence, a message that fails again after a redrive becomes a new letter.
    const brokerId = `${deadLetters.messageId(letter)}:${sequence}`;
    const raw = Buffer.from(JSON.stringify(letter));
    const headers = { 'content-type': JSON_CONTENT };
    await this.streams.keep('DEAD_LETTERS', {
      subject: deadLetters.subject(letter),
      raw,
      headers,
      messageId: brokerId,
      brokerId,
    });
  }

  private letterAccess() {
    return {
      watch: this.watch.bind(this),
      remove: async (sequence: number) => this.streams.log('DEAD_LETTERS').remove(sequence),
      resend: (letter: DeadLetter) => this.resend(letter),
    };
  }

  private async resend(letter: DeadLetter): Promise<void> {
    const stream = streamOf(letter.subject);
    if (!stream) throw new Error(`dead letter ${letter.messageId}: no stream stores ${letter.subject}`);
    const { subject, messageId, group: onlyGroup } = letter;
    const raw = Buffer.from(letter.body, 'base64');
    this.streams.store(stream, {
      subject,
      messageId,
      onlyGroup,
      raw,
      headers: { 'content-type': JSON_CONTENT },
      brokerId: undefined,
    });
  }
}

type Owner = (question: Uint8Array) => Promise<Uint8Array>;

/** Commands within one process, encoded as on the wire. Handlers of one subject take turns. */
class MemoryCommands {
  private readonly owners = new Map<string, Owner[]>();
  private readonly running = new BackgroundWork();

  constructor(private readonly logger: BusLogger) {}

  serve<Q, A>(command: Command<Q, A>, handler: (question: Q) => Promise<A>): Subscription {
    const own = new BackgroundWork();
    const owner: Owner = (question) => {
      const answer = answerQuestion(command, handler, question, this.logger);
      for (const running of [own, this.running]) running.add(answer);
      return answer;
    };
    this.owners.set(command.subject, [...(this.owners.get(command.subject) ?? []), owner]);
    return {
      close: async () => {
        const others = (this.owners.get(command.subject) ?? []).filter((other) => other !== owner);
        this.owners.set(command.subject, others);
        await own.ended();
      },
    };
  }

  async request<Q, A>(command: Command<Q, A>, question: Q): Promise<A> {
    const owners = this.owners.get(command.subject) ?? [];
    const owner = owners.shift();
    if (!owner)
      throw new CommandUnanswered(`no handler for ${command.subject}`, { wasAsked: false, hasNoHandler: true });
    owners.push(owner);
    const bytes = encodeQuestion(question);
    const onTimeout = () =>
      new CommandUnanswered(`${command.subject} was not answered within ${command.deadlineMs} ms`);
    return readAnswer(command, await withTimeout(command.deadlineMs, owner(bytes), onTimeout));
  }

  async close(): Promise<void> {
    this.owners.clear();
    await this.running.ended();
  }
}
