import { type AgentEvent, batchJson, timeOrderedId } from '@agentlens/contracts';
import { context, type Link, trace } from '@opentelemetry/api';
import type { BatchPublisher } from './batch-publisher.ts';
import { LIMITS } from './limits.ts';
import type { Part } from './parts.ts';

const WAIT_MS = 2;
const MOST_EVENTS = 500;

/** Runs `flush` a little later; answers how to call it off. */
export type Schedule = (flush: () => void) => () => void;

const afterMoment: Schedule = (flush) => {
  const timer = setTimeout(flush, WAIT_MS);
  return () => clearTimeout(timer);
};

/** A message that is still being filled. */
interface Filling {
  readonly tenantId: string;
  readonly partition: string;
  readonly events: AgentEvent[];
  readonly texts: string[];
  readonly links: Link[];
  bytes: number;
  readonly safe: PromiseWithResolvers<void>;
  readonly callOff: () => void;
}

/**
 * Small requests of one tenant and partition that arrive within two milliseconds share a message: one publish and one
 * fsync for all of them. Each request is answered when the message that carries its events is safe.
 */
export class Coalescer {
  readonly #filling = new Map<string, Filling>();

  constructor(
    private readonly publisher: BatchPublisher,
    private readonly now: () => number,
    private readonly schedule: Schedule = afterMoment,
  ) {}

  /** Resolves when the events are safe. @throws BusUnavailable */
  add(part: Part): Promise<void> {
    const place = `${part.tenantId}/${part.partition}`;
    const present = this.#filling.get(place);
    if (present !== undefined && !fits(present, part)) this.#flush(place, present);
    const filling = this.#filling.get(place) ?? this.#open(place, part);
    for (const event of part.events) filling.events.push(event);
    for (const text of part.texts) filling.texts.push(text);
    filling.bytes += part.bytes;
    const span = trace.getSpanContext(context.active());
    if (span !== undefined && part.events.length !== filling.events.length) filling.links.push({ context: span });
    if (filling.events.length >= MOST_EVENTS) this.#flush(place, filling);
    return filling.safe.promise;
  }

  /** Publishes everything that waits. */
  flush(): void {
    for (const [place, filling] of [...this.#filling]) this.#flush(place, filling);
  }

  #open(place: string, { tenantId, partition }: Part): Filling {
    const filling: Filling = {
      tenantId,
      partition,
      events: [],
      texts: [],
      links: [],
      bytes: 0,
      safe: Promise.withResolvers<void>(),
      callOff: this.schedule(() => this.#flush(place, filling)),
    };
    this.#filling.set(place, filling);
    return filling;
  }

  #flush(place: string, filling: Filling): void {
    if (this.#filling.get(place) !== filling) return;
    this.#filling.delete(place);
    filling.callOff();
    const nowMs = this.now();
    const { tenantId, partition, events, texts, bytes, links, safe } = filling;
    const batch = { id: timeOrderedId(nowMs), tenantId, partition, receivedAt: new Date(nowMs).toISOString(), events };
    this.publisher.publish(batch, { bytes, links, json: batchJson(batch, texts) }).then(safe.resolve, safe.reject);
  }
}

function fits(filling: Filling, part: Part): boolean {
  return filling.events.length + part.events.length <= MOST_EVENTS && filling.bytes + part.bytes <= LIMITS.messageBytes;
}
