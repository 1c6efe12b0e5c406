import { type AgentEvent, batchJson, timeOrderedId } from '@agentlens/contracts';
import { context, type Link, trace } from '@opentelemetry/api';
import type { BatchPublisher } from './batch-publisher.ts';
import { LIMITS } from './limits.ts';
import type { Part } from './parts.ts';

const LATEST_MS = 25;
const MOST_EVENTS = 500;

/** Runs `flush` later; answers how to call it off. */
type Schedule = (flush: () => void) => () => void;

/** When a message that is being filled leaves by itself. */
export interface Moments {
  /** Once everything that has arrived is taken. */
  readonly soon: Schedule;
  /** Where the message before it takes that long. */
  readonly late: Schedule;
}

const MOMENTS: Moments = {
  soon: (flush) => {
    const immediate = setImmediate(flush);
    return () => clearImmediate(immediate);
  },
  late: (flush) => {
    const timer = setTimeout(flush, LATEST_MS);
    return () => clearTimeout(timer);
  },
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
 * Small requests of one tenant and partition share a message, one publish and one sync to disk: those that arrive
 * together, and those that arrive while the message before them is on its way (group commit). So nobody waits for company
 * on an idle machine, and on a busy one messages grow by themselves. Each request is answered when the message that
 * carries its events is safe.
 */
export class Coalescer {
  readonly #filling = new Map<string, Filling>();
  /** How many messages of a place are on their way. */
  readonly #underWay = new Map<string, number>();

  constructor(
    private readonly publisher: Pick<BatchPublisher, 'publish'>,
    private readonly now: () => number,
    private readonly moments: Moments = MOMENTS,
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
    const schedule = this.#underWay.has(place) ? this.moments.late : this.moments.soon;
    const filling: Filling = {
      tenantId,
      partition,
      events: [],
      texts: [],
      links: [],
      bytes: 0,
      safe: Promise.withResolvers<void>(),
      callOff: schedule(() => this.#flush(place, filling)),
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
    const sent = this.publisher.publish(batch, { bytes, links, json: batchJson(batch, texts) });
    sent.then(safe.resolve, safe.reject);
    this.#underWay.set(place, (this.#underWay.get(place) ?? 0) + 1);
    const arrived = () => this.#arrived(place);
    sent.then(arrived, arrived);
  }

  #arrived(place: string): void {
    const others = (this.#underWay.get(place) ?? 0) - 1;
    if (others > 0) this.#underWay.set(place, others);
    else this.#underWay.delete(place);
    const next = this.#filling.get(place);
    if (next !== undefined) this.#flush(place, next);
  }
}

function fits(filling: Filling, part: Part): boolean {
  return filling.events.length + part.events.length <= MOST_EVENTS && filling.bytes + part.bytes <= LIMITS.messageBytes;
}
