import type { Command, DeadLetter, Topic } from '@agentlens/contracts';
import type { EncodedMessage } from './publish/encoded-message.ts';

/** Outcome of handling one message, returned by a consumer group. */
export type HandlingOutcome =
  | { readonly kind: 'ack' }
  /** Redeliver after `afterMs`. Retries are unlimited. */
  | { readonly kind: 'retry'; readonly afterMs: number; readonly reason: string }
  /** Never retry. The message is stored as a dead letter with this reason, then settled. */
  | { readonly kind: 'poison'; readonly reason: string };

export const ACK: HandlingOutcome = { kind: 'ack' };

/** A message as delivered to a consumer: the parsed value and the raw bytes. */
export interface Received<T> {
  /** @throws UnreadableMessage if the consumer is lazy and the message cannot be parsed */
  readonly value: T;
  readonly raw: Uint8Array;
  readonly subject: string;
  readonly messageId: string;
  /** 1 for the first delivery to this group. */
  readonly attempt: number;
  /** Position in the stream, or 0 for an ephemeral topic. Can be used as an SSE event id and to resume a watch. */
  readonly sequence: number;
  readonly publishedAtMs: number;
  /** Includes the W3C trace context and the `ce-*` attributes. */
  readonly headers: Readonly<Record<string, string>>;
}

/** A message that has not been parsed. */
export type RawMessage = Omit<Received<unknown>, 'value'>;

/** Subject, position and headers of a stored message, without its body. */
export type MessageEnvelope = Pick<Received<never>, 'subject' | 'sequence' | 'headers'>;

export interface EnvelopePage {
  /** Oldest first. Leaves out messages that were redriven to a single group. */
  readonly envelopes: readonly MessageEnvelope[];
  /**
   * Number of messages scanned, including those left out. Smaller than the range of sequences if messages were lost.
   */
  readonly scanned: number;
  /** Last sequence scanned; pass it as `after` for the next page. */
  readonly upTo: number;
  /**
   * Newest sequence in the stream at the time of the call. If it is lower than in an earlier call, the stream was
   * recreated.
   */
  readonly newest: number;
}

export interface PublishAck {
  readonly sequence: number;
  /** The broker already had a message with this id and stored nothing. */
  readonly duplicate: boolean;
}

export interface PublishOptions {
  /** Timeout for storing the message. */
  readonly deadlineMs?: number;
}

export interface ConsumeOptions {
  /** Consumer group. Each group receives every message once; its replicas share the messages. */
  readonly group: string;
  /** Maximum number of messages per call of the handler. Default 1. */
  readonly maxBatch?: number;
  /** Maximum number of concurrent calls of the handler. Default 1. */
  readonly concurrency?: number;
  /**
   * Minimum interval between the starts of two calls, ms. Messages that arrive in between are batched; a message that
   * arrives after a pause is handled immediately. The memory bus ignores this, because its publishers wait for the
   * handler. Default 0.
   */
  readonly paceMs?: number;
  /**
   * Time after which another replica gets an unacknowledged message, extended while a handler runs. Default 5,000 ms.
   */
  readonly ackWaitMs?: number;
  /**
   * For handlers that mostly forward bytes. A message whose headers contain its topic's summary is parsed when `value`
   * is first read; any other message is parsed before the handler runs. Default false.
   */
  readonly lazy?: boolean;
}

/**
 * Handles a batch and returns one outcome per message, in order. If it throws, all messages are retried with backoff.
 * It must be idempotent and independent of order, because messages are delivered at least once and in any order.
 */
export type BatchHandler<T> = (messages: readonly Received<T>[]) => Promise<readonly HandlingOutcome[]>;

export interface WatchOptions {
  readonly tenantId?: string;
  /**
   * `new`: only new messages. `last`: the newest message of each subject, then new ones. A number: messages after that
   * sequence.
   */
  readonly from?: 'new' | 'last' | number;
  /** Called when the stored history has been delivered; immediately if there is none. */
  readonly onCaughtUp?: () => void;
}

export interface Subscription {
  /** Stops taking messages and waits for running handlers. */
  close(): Promise<void>;
}

export interface Watch extends Subscription {
  /**
   * Age in ms of the last moment at which this watch had certainly received everything published. Infinity if unknown,
   * and for an ephemeral topic.
   */
  readonly silentMs: number;
}

/** How far a consumer group is behind. */
export interface ConsumerLag {
  /** Messages not delivered yet. */
  readonly pending: number;
  readonly unacknowledged: number;
  /** Unacknowledged messages that were delivered more than once. */
  readonly redelivered: number;
  /** Age of the oldest unacknowledged message, ms; 0 if there is none. */
  readonly oldestAgeMs: number;
  /**
   * Age of the nth newest message, ms, where n is the number of unacknowledged messages. This is the time a message
   * waits in a group that handles messages in order. Unlike `oldestAgeMs` it does not grow because a dead replica holds
   * a few messages while the others make progress.
   */
  readonly backlogAgeMs: number;
}

export const NO_LAG: ConsumerLag = { pending: 0, unacknowledged: 0, redelivered: 0, oldestAgeMs: 0, backlogAgeMs: 0 };

/** Selects a page of dead letters. */
export interface DeadLetterQuery {
  /** Only letters of this tenant; all tenants if omitted. */
  readonly tenantId?: string | undefined;
  /** Return letters after this sequence; 0 starts with the oldest. */
  readonly after: number;
  readonly limit: number;
}

export interface DeadLetterPage {
  /** Oldest first. */
  readonly letters: readonly Pick<Received<DeadLetter>, 'value' | 'sequence'>[];
  /** Pass this as `after` for the next page. */
  readonly upTo: number;
  /** Number of matching letters after this page. */
  readonly remaining: number;
}

/** The broker did not store the message because it is unreachable, full or too slow. Retry after `afterMs`. */
export class BusUnavailable extends Error {
  override readonly name = 'BusUnavailable';
  constructor(
    message: string,
    readonly afterMs: number,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

/**
 * A lazily parsed message is not valid. Return `poison` with this error's message, which names the field but never
 * quotes content.
 */
export class UnreadableMessage extends Error {
  override readonly name = 'UnreadableMessage';
}

/** A command got no valid answer within its deadline. */
export class CommandUnanswered extends Error {
  override readonly name = 'CommandUnanswered';
  /** False if the command did not reach a handler, so it certainly had no effect. */
  readonly wasAsked: boolean;
  /** True if the broker answered that no handler is subscribed; the connection works then. */
  readonly hasNoHandler: boolean;

  constructor(
    message: string,
    {
      wasAsked = true,
      hasNoHandler = false,
      ...options
    }: ErrorOptions & { readonly wasAsked?: boolean; readonly hasNoHandler?: boolean } = {},
  ) {
    super(message, options);
    this.wasAsked = wasAsked;
    this.hasNoHandler = hasNoHandler;
  }
}

/** Message bus: durable topics, ephemeral watches and commands. Both adapters pass the same contract suite. */
export interface EventBus {
  /**
   * Publishes a message. Resolves when it is safe: stored in the stream or, with the memory bus, settled by every
   * group. A duplicate of a message that is still being settled waits for that message. Publishing to an ephemeral
   * topic is best effort and never fails.
   * @throws BusUnavailable
   */
  publish<T>(topic: Topic<T>, message: T, options?: PublishOptions): Promise<PublishAck>;
  /** Like `publish`, for a message that is already encoded. @throws BusUnavailable */
  publishEncoded<T>(topic: Topic<T>, message: EncodedMessage, options?: PublishOptions): Promise<PublishAck>;
  /** Joins a durable consumer group. Delivery continues where the group stopped. */
  consume<T>(topic: Topic<T>, options: ConsumeOptions, handler: BatchHandler<T>): Promise<Subscription>;
  /** Delivers every message to every instance, at most once and without acknowledgement. For screens and caches. */
  watch<T>(topic: Topic<T>, options: WatchOptions, handler: (message: Received<T>) => void): Promise<Watch>;
  /**
   * Reads up to `limit` headers of stored messages after a sequence. Bodies are not transferred, so the cost does not
   * depend on their size.
   */
  envelopes<T>(topic: Topic<T>, after: number, limit: number): Promise<EnvelopePage>;
  /** @throws CommandUnanswered */
  request<Q, A>(command: Command<Q, A>, question: Q): Promise<A>;
  /**
   * Handles a command. Replicas of one service share the requests. If the handler throws, the caller gets an internal
   * error.
   */
  serve<Q, A>(command: Command<Q, A>, handler: (question: Q) => Promise<A>): Promise<Subscription>;
  lag<T>(topic: Topic<T>, group: string): Promise<ConsumerLag>;
  /** Dead letters of one group or of all, oldest first. */
  deadLetters(group?: string): Promise<readonly DeadLetter[]>;
  /**
   * Reads one page of dead letters. The cost depends on the page, not on the total.
   * @throws BusUnavailable if the broker stops responding
   */
  deadLetterPage(query: DeadLetterQuery): Promise<DeadLetterPage>;
  /**
   * Returns a dead letter to its group, and only to that group: it is published on its original subject under a new
   * broker id, with headers for the group and the original id, and other groups settle it without handling it. The
   * letter is removed. Returns false if there is no such letter.
   * @throws BusUnavailable
   */
  redrive(group: string, messageId: string): Promise<boolean>;
  /** Cheap connectivity check for the readiness probe. */
  healthy(): boolean;
  /** Stops taking messages, waits for running handlers and pending publishes, then disconnects. */
  close(): Promise<void>;
}

/** The subset of a pino logger that the bus uses. */
export interface BusLogger {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

export const SILENT: BusLogger = { info: () => undefined, warn: () => undefined, error: () => undefined };
