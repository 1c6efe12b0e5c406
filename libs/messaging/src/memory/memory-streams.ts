import { STREAMS, type StreamName } from '@agentlens/contracts';
import { BusUnavailable, type PublishAck } from '../event-bus.ts';
import { InFlight } from '../util/in-flight.ts';
import { within } from '../util/promises.ts';
import { ConsumerGroup, type QueueLimits } from './consumer-group.ts';
import { type KnownMessage, type LogLimits, MessageLog, type StoredMessage } from './message-log.ts';
import { subjectMatches } from './subject-matches.ts';

/** `complete` resolves when `settle` has been called once per group; it is absent if there are no groups. */
function settlementOf(groups: number): { readonly complete?: Promise<void>; readonly settle: () => void } {
  if (groups === 0) return { settle: () => undefined };
  let open = groups;
  let finish: () => void = () => undefined;
  const complete = new Promise<void>((resolve) => {
    finish = resolve;
  });
  const settle = () => {
    open -= 1;
    if (open === 0) finish();
  };
  return { complete, settle };
}

interface StreamsLimits {
  readonly publishDeadlineMs: number;
  readonly queue: QueueLimits;
  readonly historyOf: (stream: StreamName) => LogLimits;
  readonly drainMs: number;
}

/** A message before it gets its position in a stream. `brokerId` is the deduplication id. */
export type Outgoing = Omit<StoredMessage, 'sequence' | 'publishedAtMs' | 'settled'> & {
  readonly brokerId: string | undefined;
};

/** A pending publish. */
interface PendingPublish {
  readonly done: Promise<void>;
  readonly reject: (why: string) => void;
}

const RETRY_AFTER_MS = 1_000;

/** The broker in memory: streams, their durable groups, and the publishes that wait for settlement. */
export class MemoryStreams {
  private readonly logs = new Map<StreamName, MessageLog>();
  private readonly groups = new Map<StreamName, Map<string, ConsumerGroup>>();
  private readonly pending = new InFlight<PendingPublish>();
  private isClosed = false;

  constructor(
    private readonly limits: StreamsLimits,
    private readonly now: () => number,
    private readonly onStored: (stream: StreamName, message: StoredMessage) => void,
  ) {}

  get closed(): boolean {
    return this.isClosed;
  }

  /**
   * Stores a message and waits until every group has settled it. A duplicate waits for the original.
   * @throws BusUnavailable
   */
  async keep(stream: StreamName, outgoing: Outgoing, deadlineMs?: number): Promise<PublishAck> {
    const { message, duplicate } = this.store(stream, outgoing);
    if (message.settled) await this.untilSettled(message, message.settled, deadlineMs);
    return { sequence: message.sequence, duplicate };
  }

  /** @throws BusUnavailable */
  store(stream: StreamName, outgoing: Outgoing): { message: KnownMessage; duplicate: boolean } {
    if (this.closed) throw new BusUnavailable('the bus is closed', RETRY_AFTER_MS);
    const { brokerId, ...facts } = outgoing;
    const log = this.log(stream);
    const known = brokerId === undefined ? undefined : log.known(brokerId, this.now());
    if (known) return { message: known, duplicate: true };
    const groups = this.groupsFor(stream, facts);
    const full = groups.find((group) => !group.hasRoomFor(facts.raw.byteLength));
    if (full) throw new BusUnavailable(`the queue of ${full.name} is full`, RETRY_AFTER_MS);
    const sequence = log.nextSequence();
    const messageId = facts.messageId || `${stream}:${sequence}`;
    const { complete: settled, settle } = settlementOf(groups.length);
    const message: StoredMessage = { ...facts, messageId, sequence, publishedAtMs: this.now(), settled };
    log.append(message, brokerId);
    for (const group of groups) group.offer(message, settle);
    this.onStored(stream, message);
    return { message, duplicate: false };
  }

  /** Returns the durable group with this name. A new group starts with the stored history. */
  group(stream: StreamName, name: string, pattern: string): ConsumerGroup {
    const ofStream = this.groups.get(stream) ?? new Map<string, ConsumerGroup>();
    this.groups.set(stream, ofStream);
    const existing = ofStream.get(name);
    if (existing && existing.pattern !== pattern) {
      throw new Error(
        `group ${name} consumes ${existing.pattern} of ${stream} already: use another group name for ${pattern}`,
      );
    }
    if (existing) return existing;
    const group = new ConsumerGroup(name, pattern, this.limits.queue, this.now);
    ofStream.set(name, group);
    for (const message of this.log(stream).after(0)) if (isFor(group, message)) group.offer(message, () => undefined);
    return group;
  }

  knownGroup(stream: StreamName, name: string): ConsumerGroup | undefined {
    return this.groups.get(stream)?.get(name);
  }

  log(stream: StreamName): MessageLog {
    const existing = this.logs.get(stream);
    if (existing) return existing;
    const log = new MessageLog(STREAMS[stream], this.limits.historyOf(stream), this.now());
    this.logs.set(stream, log);
    return log;
  }

  /** Lets running work finish, then rejects the remaining publishes; their publishers retry. */
  async close(): Promise<void> {
    await within(this.limits.drainMs, this.idle());
    this.isClosed = true;
    for (const { reject } of this.pending) reject('was not settled before the bus closed');
    const groups = [...this.groups.values()].flatMap((ofStream) => [...ofStream.values()]);
    await Promise.all(groups.map((group) => group.close()));
  }

  private groupsFor(stream: StreamName, message: Addressed): ConsumerGroup[] {
    return [...(this.groups.get(stream)?.values() ?? [])].filter((group) => isFor(group, message));
  }

  /** Rejects at the deadline or when the bus closes. The message stays queued and may still be handled. */
  private async untilSettled(message: KnownMessage, settled: Promise<void>, deadlineMs?: number): Promise<void> {
    const timeoutMs = deadlineMs ?? this.limits.publishDeadlineMs;
    const publish = Promise.withResolvers<void>();
    const reject = (why: string) =>
      publish.reject(new BusUnavailable(`message ${message.messageId} ${why}`, RETRY_AFTER_MS));
    const timer = setTimeout(() => reject(`was not settled by every group within ${timeoutMs} ms`), timeoutMs);
    void settled.then(publish.resolve);
    const place = this.pending.add({ done: publish.promise, reject });
    try {
      await publish.promise;
    } finally {
      clearTimeout(timer);
      this.pending.delete(place);
    }
  }

  /** Waits until no publish is pending. Loops, because handling a message may publish others. */
  private async idle(): Promise<void> {
    while (this.pending.size > 0) await Promise.allSettled(Array.from(this.pending, ({ done }) => done));
  }
}

type Addressed = Pick<StoredMessage, 'subject' | 'onlyGroup'>;

function isFor(group: ConsumerGroup, { subject, onlyGroup }: Addressed): boolean {
  return (onlyGroup === undefined || onlyGroup === group.name) && subjectMatches(group.pattern, subject);
}
