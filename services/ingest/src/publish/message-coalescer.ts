import { addDays, timeOrderedId } from '@agentlens/contracts';
import { type Context, context, type Link, trace } from '@opentelemetry/api';
import { LIMITS } from '../intake/limits.ts';
import type { BatchPublisher } from './batch-publisher.ts';
import { type CommitTimer, GroupCommit } from './group-commit.ts';
import { type MessagePart, type OutgoingBatch, outgoing } from './messages.ts';

/** At this size the overhead of a message is negligible, so it is published at once. */
export const FULL_MESSAGE = 500;

/** A message that is still being filled. */
interface Filling {
  readonly partition: string;
  /** Context of the request that started the message; the others are linked. */
  readonly context: Context;
  readonly days: Set<string>;
  readonly texts: string[];
  readonly links: Link[];
  bytes: number;
  readonly safe: PromiseWithResolvers<void>;
}

/**
 * Requests of one tenant that arrive before the next commit share a message, one publish and one sync to disk. Each
 * request is answered when the message with its events is safe.
 */
export class MessageCoalescer {
  /** Keyed by tenant. */
  readonly #filling = new Map<string, Filling>();
  readonly #commit: GroupCommit;

  constructor(
    private readonly publisher: Pick<BatchPublisher, 'publish'>,
    private readonly now: () => number,
    timer?: CommitTimer,
  ) {
    this.#commit = new GroupCommit(() => this.#sendAll(), timer);
  }

  /** Resolves when the events are safe. @throws BusUnavailable */
  add(part: MessagePart): Promise<void> {
    const filling = this.#fillingFor(part);
    addDays(filling.days, part.events);
    for (const text of part.texts) filling.texts.push(text);
    filling.bytes += part.bytes;
    const span = trace.getSpanContext(context.active());
    if (span !== undefined && part.texts.length !== filling.texts.length) filling.links.push({ context: span });
    if (filling.texts.length >= FULL_MESSAGE) void this.#send(part.tenantId, filling);
    else this.#commit.request();
    return filling.safe.promise;
  }

  /** Publishes everything that is waiting. */
  flush(): void {
    if (this.#filling.size > 0) this.#commit.commit();
  }

  /** Returns the message that this part fits into; a message that it does not fit is sent at once. */
  #fillingFor(part: MessagePart): Filling {
    const present = this.#filling.get(part.tenantId);
    if (present !== undefined && fits(present, part)) return present;
    if (present !== undefined) void this.#send(part.tenantId, present);
    const opened = { partition: part.partition, context: context.active() };
    const safe = Promise.withResolvers<void>();
    const filling: Filling = { ...opened, days: new Set(), texts: [], links: [], bytes: 0, safe };
    this.#filling.set(part.tenantId, filling);
    return filling;
  }

  async #sendAll(): Promise<void> {
    await Promise.all([...this.#filling].map(([tenantId, filling]) => this.#send(tenantId, filling)));
  }

  /** Resolves when the message has been stored or has failed. Its requests get the result. */
  async #send(tenantId: string, filling: Filling): Promise<void> {
    this.#filling.delete(tenantId);
    const { context: begun, links, safe } = filling;
    try {
      const batch = this.#write(tenantId, filling);
      // The texts are serialised; keeping them until the message is safe would only delay their collection.
      filling.texts.length = 0;
      await context.with(begun, () => this.publisher.publish(batch, links));
      safe.resolve();
    } catch (error) {
      safe.reject(error);
    }
  }

  #write(tenantId: string, { partition, days, texts, bytes }: Filling): OutgoingBatch {
    const nowMs = this.now();
    const receivedAt = new Date(nowMs).toISOString();
    const facts = { events: texts.length, days: [...days].sort(), receivedAt };
    return outgoing({ id: timeOrderedId(nowMs), tenantId, partition, ...facts }, texts, bytes);
  }
}

function fits(filling: Filling, part: MessagePart): boolean {
  return filling.texts.length + part.texts.length <= FULL_MESSAGE && filling.bytes + part.bytes <= LIMITS.messageBytes;
}
