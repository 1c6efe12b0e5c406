import type { StreamSpec } from '@agentlens/contracts';

/** A message stored in the memory bus. */
export interface StoredMessage {
  readonly subject: string;
  readonly messageId: string;
  readonly raw: Uint8Array;
  readonly sequence: number;
  readonly publishedAtMs: number;
  readonly headers: Readonly<Record<string, string>>;
  /** The only group that receives the message; set on redriven messages. */
  readonly onlyGroup?: string;
  /** Resolves when every group has settled the message; absent if there were no groups. */
  readonly settled?: Promise<void>;
}

/** What the duplicate window keeps of a message: everything except the body, which may be large. */
export type KnownMessage = Pick<StoredMessage, 'messageId' | 'sequence' | 'publishedAtMs' | 'settled'>;

/** What is kept of a message after its body was evicted. */
type PastMessage = Pick<StoredMessage, 'subject' | 'sequence' | 'headers' | 'onlyGroup'>;

export interface LogLimits {
  /** Maximum number of messages, with or without body. */
  readonly messages: number;
  /** Maximum total size of bodies. */
  readonly bytes: number;
}

/**
 * Bounded history of one stream, for watchers that resume, groups that join late, and deduplication. Sequences start at
 * the current time, so they keep increasing across restarts.
 */
export class MessageLog {
  private readonly recent: StoredMessage[] = [];
  private readonly past: PastMessage[] = [];
  private readonly newest = new Map<string, StoredMessage>();
  private readonly ids = new Map<string, KnownMessage>();
  private bytes = 0;
  private last: number;

  constructor(
    readonly spec: StreamSpec,
    private readonly limits: LogLimits,
    nowMs: number,
  ) {
    this.last = nowMs * 1_000;
  }

  get newestSequence(): number {
    return this.last;
  }

  nextSequence(): number {
    this.last += 1;
    return this.last;
  }

  /** The message with this id if it was published within the duplicate window. */
  known(brokerId: string, nowMs: number): KnownMessage | undefined {
    for (const [id, message] of this.ids) {
      if (nowMs - message.publishedAtMs < this.spec.duplicateWindowMs) break;
      this.ids.delete(id);
    }
    return this.ids.get(brokerId);
  }

  append(message: StoredMessage, brokerId: string | undefined): void {
    const { messageId, sequence, publishedAtMs, settled } = message;
    if (brokerId !== undefined) this.ids.set(brokerId, { messageId, sequence, publishedAtMs, settled });
    this.newest.set(message.subject, message);
    if (this.spec.lastPerSubject) return;
    const { subject, headers, onlyGroup } = message;
    this.past.push(
      onlyGroup === undefined ? { subject, sequence, headers } : { subject, sequence, headers, onlyGroup },
    );
    if (this.past.length > this.limits.messages) this.past.shift();
    this.recent.push(message);
    this.bytes += message.raw.byteLength;
    while (this.recent.length > this.limits.messages || (this.bytes > this.limits.bytes && this.recent.length > 1)) {
      const dropped = this.recent.shift();
      if (!dropped) return;
      this.bytes -= dropped.raw.byteLength;
      if (this.newest.get(dropped.subject) === dropped) this.newest.delete(dropped.subject);
    }
  }

  /** Messages after a sequence, oldest first, including those whose bodies were evicted. */
  pastAfter(sequence: number): PastMessage[] {
    const known = this.spec.lastPerSubject ? this.newestPerSubject() : this.past;
    return known.filter((message) => message.sequence > sequence);
  }

  /** Messages after a sequence that still have a body, oldest first. */
  after(sequence: number): StoredMessage[] {
    return this.kept().filter((message) => message.sequence > sequence);
  }

  newestPerSubject(): StoredMessage[] {
    return [...this.newest.values()].sort((a, b) => a.sequence - b.sequence);
  }

  remove(sequence: number): void {
    removeFrom(this.past, sequence);
    const removed = removeFrom(this.recent, sequence);
    if (removed) this.bytes -= removed.raw.byteLength;
    for (const [subject, message] of this.newest) if (message.sequence === sequence) this.newest.delete(subject);
  }

  private kept(): StoredMessage[] {
    return this.spec.lastPerSubject ? this.newestPerSubject() : this.recent;
  }
}

function removeFrom<M extends PastMessage>(messages: M[], sequence: number): M | undefined {
  const index = messages.findIndex((message) => message.sequence === sequence);
  return index < 0 ? undefined : messages.splice(index, 1)[0];
}
