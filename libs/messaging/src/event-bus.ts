import type { Command, DeadLetter, Topic } from '@agentlens/contracts';
import type { EncodedMessage } from './publish/encoded-message.ts';

/** What a consumer group decided about one message. */
export type HandlingOutcome =
  | { readonly kind: 'ack' }
  /** Not now: deliver it again after `afterMs`. Never counts towards giving up. */
  | { readonly kind: 'retry'; readonly afterMs: number; readonly reason: string }
  /** Never: it becomes a dead letter with this reason, then it is settled. */
  | { readonly kind: 'poison'; readonly reason: string };

export const ACK: HandlingOutcome = { kind: 'ack' };

/** A message as a consumer gets it: parsed, with the bytes it came as. */
export interface Received<T> {
  /** @throws UnreadableMessage where the consumer is lazy and the message cannot be read */
  readonly value: T;
  readonly raw: Uint8Array;
  readonly subject: string;
  readonly messageId: string;
  /** 1 for the first delivery to this group. */
  readonly attempt: number;
  /** Position in the stream; 0 where the topic is not kept. Usable as an SSE event id and to resume a watch. */
  readonly sequence: number;
  readonly publishedAtMs: number;
  /** W3C trace context and `ce-*` attributes. */
  readonly headers: Readonly<Record<string, string>>;
}

/** A message as it came, not parsed. */
export type RawMessage = Omit<Received<unknown>, 'value'>;

/** What the broker knows of a kept message, without its body. */
export type MessageEnvelope = Pick<Received<never>, 'subject' | 'sequence' | 'headers'>;

export interface EnvelopePage {
  /** Oldest first. Messages that were given back to one group only are left out. */
  readonly envelopes: readonly MessageEnvelope[];
  /** Messages looked at, with those left out: fewer than sequences passed where the stream has lost some. */
  readonly scanned: number;
  /** Where the next page begins: everything up to this sequence was looked at. */
  readonly upTo: number;
  /** The newest sequence of the stream when it was asked. Below what was read before: the stream was made anew. */
  readonly newest: number;
}

export interface PublishAck {
  readonly sequence: number;
  /** The broker had this message id already: nothing was stored. */
  readonly duplicate: boolean;
}

export interface PublishOptions {
  /** How long to wait until the message is safe. */
  readonly deadlineMs?: number;
}

export interface ConsumeOptions {
  /** Consumer group: every group sees each message once, its replicas share them. */
  readonly group: string;
  /** Most messages handed to one call of the handler. Default 1. */
  readonly maxBatch?: number;
  /** Calls of the handler that may run at once. Default 1. */
  readonly concurrency?: number;
  /**
   * At least so long between the beginnings of two calls, ms: what arrives meanwhile is handled together. What comes after
   * quiet waits for nobody; nor does anything in one process, where whoever publishes would wait too. Default 0.
   */
  readonly paceMs?: number;
  /** How long a delivery may take before another replica gets it; extended while a handler runs. Default 5,000 ms. */
  readonly ackWaitMs?: number;
  /**
   * For a handler that mostly hands on bytes: a message whose headers say what its topic sums up is parsed when its
   * `value` is read, if ever. Every other message is parsed before the handler sees it. Default false.
   */
  readonly lazy?: boolean;
}

/**
 * Answers one outcome per message, in order. A throw means "retry all, with back-off". Must be idempotent and
 * commutative: it will see messages again, late, and in any order.
 */
export type BatchHandler<T> = (messages: readonly Received<T>[]) => Promise<readonly HandlingOutcome[]>;

export interface WatchOptions {
  readonly tenantId?: string;
  /** `new`: from now on. `last`: first the newest of each subject, then on. A number: after that sequence. */
  readonly from?: 'new' | 'last' | number;
  /** Called when a kept topic's history up to now has been handed over (at once where there is none). */
  readonly onCaughtUp?: () => void;
}

export interface Subscription {
  /** Takes no more messages, waits for running handlers. */
  close(): Promise<void>;
}

/** How far a group is behind. */
export interface ConsumerLag {
  /** Messages not handed out yet. */
  readonly pending: number;
  readonly unacknowledged: number;
  /** Of those that are not acknowledged, how many were handed out more than once. */
  readonly redelivered: number;
  /** Age of the oldest message not yet acknowledged, ms; 0 when there is none. */
  readonly oldestAgeMs: number;
  /**
   * How long ago as many messages came as are not acknowledged, ms. It is what a message waits in a group that works its
   * messages off in order, and unlike `oldestAgeMs` it does not rise because of a few that a dead replica holds while
   * the others go on.
   */
  readonly backlogAgeMs: number;
}

export const NO_LAG: ConsumerLag = { pending: 0, unacknowledged: 0, redelivered: 0, oldestAgeMs: 0, backlogAgeMs: 0 };

/** Which part of the dead letters is read. */
export interface DeadLetterQuery {
  /** Only letters of this tenant's messages; without it, all there are. */
  readonly tenantId?: string | undefined;
  /** Letters after this sequence; 0: from the oldest. */
  readonly after: number;
  readonly limit: number;
}

export interface DeadLetterPage {
  /** Oldest first. */
  readonly letters: readonly Pick<Received<DeadLetter>, 'value' | 'sequence'>[];
  /** Where the next page begins. */
  readonly upTo: number;
  /** How many of those asked for come after this page. */
  readonly remaining: number;
}

/** The broker could not keep the message (away, full, too slow): nothing was accepted, try again after `afterMs`. */
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

/** What a lazy consumer's message holds cannot be read: answer `poison` with this message. It names the place, never the content. */
export class UnreadableMessage extends Error {
  override readonly name = 'UnreadableMessage';
}

/** No owner answered the command within its deadline. */
export class CommandUnanswered extends Error {
  override readonly name = 'CommandUnanswered';
  /** False: the question reached nobody, so that nothing was done about it. */
  readonly wasAsked: boolean;

  constructor(message: string, { wasAsked = true, ...options }: ErrorOptions & { readonly wasAsked?: boolean } = {}) {
    super(message, options);
    this.wasAsked = wasAsked;
  }
}

/** Durable facts, ephemeral watches and commands. Two adapters, one contract suite. */
export interface EventBus {
  /**
   * Resolves when the message is safe: the stream keeps it, or, in the memory bus, every group settled it. A duplicate
   * of a message still being settled waits for it. Topics that are not kept are sent at best effort and never refused.
   * @throws BusUnavailable
   */
  publish<T>(topic: Topic<T>, message: T, options?: PublishOptions): Promise<PublishAck>;
  /** As `publish`, of a message that its publisher has written down. @throws BusUnavailable */
  publishEncoded<T>(topic: Topic<T>, message: EncodedMessage, options?: PublishOptions): Promise<PublishAck>;
  /** Joins a durable consumer group; delivery starts where the group left off. */
  consume<T>(topic: Topic<T>, options: ConsumeOptions, handler: BatchHandler<T>): Promise<Subscription>;
  /** Sees every message on every instance, at most once, without acknowledging; for screens and caches. */
  watch<T>(topic: Topic<T>, options: WatchOptions, handler: (message: Received<T>) => void): Promise<Subscription>;
  /**
   * Reads what a kept topic's stream holds after a sequence without moving the bodies: what it costs does not depend
   * on their size. At most `most` messages.
   */
  envelopes<T>(topic: Topic<T>, after: number, limit: number): Promise<EnvelopePage>;
  /** @throws CommandUnanswered */
  request<Q, A>(command: Command<Q, A>, question: Q): Promise<A>;
  /** Answers a command; replicas of one service share the questions. A throw is answered as an internal error. */
  serve<Q, A>(command: Command<Q, A>, handler: (question: Q) => Promise<A>): Promise<Subscription>;
  lag<T>(topic: Topic<T>, group: string): Promise<ConsumerLag>;
  /** What groups gave up on, oldest first. */
  deadLetters(group?: string): Promise<readonly DeadLetter[]>;
  /**
   * One page of them: what it costs depends on the page, not on how many there are.
   * @throws BusUnavailable where the broker falls silent on the way
   */
  deadLetterPage(query: DeadLetterQuery): Promise<DeadLetterPage>;
  /**
   * Gives a dead letter back to its group, and to no other: it travels on its old subject under a new broker id, with
   * headers naming the group and the old id; the other groups settle it unseen. The letter is removed.
   * Answers false where there is no such letter.
   * @throws BusUnavailable
   */
  redrive(group: string, messageId: string): Promise<boolean>;
  /** Cheap connectivity check for readiness. */
  healthy(): boolean;
  /** Stops taking messages, waits for running handlers and unsettled publishes, disconnects. */
  close(): Promise<void>;
}

/** The part of a pino logger the bus uses. */
export interface BusLogger {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

export const SILENT: BusLogger = { info: () => undefined, warn: () => undefined, error: () => undefined };
