import { STREAMS, type StreamName } from '@agentlens/contracts';
import { BusUnavailable, type PublishAck } from '../event-bus.ts';
import { InFlight } from '../util/in-flight.ts';
import { within } from '../util/promises.ts';
import { ConsumerGroup, type QueueLimits } from './consumer-group.ts';
import { type KnownMessage, type LogLimits, MessageLog, type StoredMessage } from './message-log.ts';
import { subjectMatches } from './subject-matches.ts';

/** Complete when `settle` was called by every group; nothing to wait for where there is none. */
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

/** A message before it has its place in a stream; `brokerId` is what it is deduped by. */
export type Outgoing = Omit<StoredMessage, 'sequence' | 'publishedAtMs' | 'settled'> & {
  readonly brokerId: string | undefined;
};

/** A publisher whose message is not settled. */
interface Waiting {
  readonly over: Promise<void>;
  readonly refuse: (why: string) => void;
}

const REFUSED_FOR_MS = 1_000;

/** The broker's part in memory: logs, the durable groups on them, and who waits for what to be settled. */
export class MemoryStreams {
  private readonly logs = new Map<StreamName, MessageLog>();
  private readonly groups = new Map<StreamName, Map<string, ConsumerGroup>>();
  private readonly waiting = new InFlight<Waiting>();
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
   * Stores and waits until every group settled the message; a duplicate waits for the first of its kind.
   * @throws BusUnavailable
   */
  async keep(stream: StreamName, outgoing: Outgoing, deadlineMs?: number): Promise<PublishAck> {
    const { message, duplicate } = this.store(stream, outgoing);
    if (message.settled) await this.untilSettled(message, message.settled, deadlineMs);
    return { sequence: message.sequence, duplicate };
  }

  /** @throws BusUnavailable */
  store(stream: StreamName, outgoing: Outgoing): { message: KnownMessage; duplicate: boolean } {
    if (this.closed) throw new BusUnavailable('the bus is closed', REFUSED_FOR_MS);
    const { brokerId, ...facts } = outgoing;
    const log = this.log(stream);
    const known = brokerId === undefined ? undefined : log.known(brokerId, this.now());
    if (known) return { message: known, duplicate: true };
    const groups = this.groupsFor(stream, facts);
    const full = groups.find((group) => !group.hasRoomFor(facts.raw.byteLength));
    if (full) throw new BusUnavailable(`the queue of ${full.name} is full`, REFUSED_FOR_MS);
    const sequence = log.nextSequence();
    const messageId = facts.messageId || `${stream}:${sequence}`;
    const { complete: settled, settle } = settlementOf(groups.length);
    const message: StoredMessage = { ...facts, messageId, sequence, publishedAtMs: this.now(), settled };
    log.append(message, brokerId);
    for (const group of groups) group.offer(message, settle);
    this.onStored(stream, message);
    return { message, duplicate: false };
  }

  /** The durable group of this name, made with what the log still has when it is new. */
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

  /** Lets what is under way finish; what is still unsettled then is refused to its publisher, who sends it again. */
  async close(): Promise<void> {
    await within(this.limits.drainMs, this.quiet());
    this.isClosed = true;
    for (const { refuse } of this.waiting) refuse('was not settled before the bus closed');
    const groups = [...this.groups.values()].flatMap((ofStream) => [...ofStream.values()]);
    await Promise.all(groups.map((group) => group.close()));
  }

  private groupsFor(stream: StreamName, message: Addressed): ConsumerGroup[] {
    return [...(this.groups.get(stream)?.values() ?? [])].filter((group) => isFor(group, message));
  }

  /** At the deadline, or when the bus closes, the publisher is refused; the message stays queued and may still be handled. */
  private async untilSettled(message: KnownMessage, settled: Promise<void>, deadlineMs?: number): Promise<void> {
    const patienceMs = deadlineMs ?? this.limits.publishDeadlineMs;
    const { promise: over, resolve, reject } = Promise.withResolvers<void>();
    const refuse = (why: string) => reject(new BusUnavailable(`message ${message.messageId} ${why}`, REFUSED_FOR_MS));
    const timer = setTimeout(() => refuse(`was not settled by every group within ${patienceMs} ms`), patienceMs);
    void settled.then(resolve);
    const place = this.waiting.add({ over, refuse });
    try {
      await over;
    } finally {
      clearTimeout(timer);
      this.waiting.delete(place);
    }
  }

  /** A settled message may have caused others: looked at again until none waits. */
  private async quiet(): Promise<void> {
    while (this.waiting.size > 0) await Promise.allSettled(Array.from(this.waiting, ({ over }) => over));
  }
}

type Addressed = Pick<StoredMessage, 'subject' | 'onlyGroup'>;

function isFor(group: ConsumerGroup, { subject, onlyGroup }: Addressed): boolean {
  return (onlyGroup === undefined || onlyGroup === group.name) && subjectMatches(group.pattern, subject);
}
