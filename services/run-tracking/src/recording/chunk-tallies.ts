import { type EventBatch, parseBatch, readWrittenBatch } from '@agentlens/contracts';
import { type FoldedEvent, GrowingTally, readsPayload, type Tally } from '@agentlens/runs';

/** An event and its contents as JSON text. */
export interface ChunkEvent {
  readonly batch: Pick<EventBatch, 'tenantId' | 'receivedAt'>;
  readonly event: FoldedEvent;
  readonly payload: string;
  readonly metadata: string;
}

/** Reads the events of a batch (JSON in UTF-8). @throws if it cannot be read or encoded */
export type ReadBatch = (body: Uint8Array) => readonly ChunkEvent[];

/** Reads the form that the gateway writes, without parsing contents. */
export const asWritten: ReadBatch = (body) => {
  const batch = readWrittenBatch(body);
  if (batch === undefined) return asParsed(body);
  return batch.events.map(({ facts, payload, metadata }) => {
    const event = readsPayload(facts.kind) ? { ...facts, payload: JSON.parse(payload) } : facts;
    return { batch, event, payload, metadata };
  });
};

/** Reads any form. */
export const asParsed: ReadBatch = (body) => {
  const batch = parseBatch(body) as EventBatch;
  return batch.events.map((event) => {
    const { payload, metadata } = event;
    return { batch, event, payload: jsonText(payload), metadata: jsonText(metadata) };
  });
};

/** @throws RangeError if a number is infinite in JavaScript and would become null */
export function jsonText(value: unknown): string {
  const text = JSON.stringify(value);
  return text.includes('null') ? JSON.stringify(value, asItIs) : text;
}

function asItIs(_key: string, value: unknown): unknown {
  if (typeof value === 'number' && !Number.isFinite(value)) throw new RangeError('a number is too big');
  return value;
}

/** Identity of an event. */
export interface EventKey {
  readonly tenantId: string;
  readonly occurredAt: string;
  readonly id: string;
}

/** A chunk that cannot be read or counted. */
export class UnreadableChunk extends Error {
  override readonly name = 'UnreadableChunk';
}

/** Totals of events, by tenant. */
export type Tallies = ReadonlyMap<string, Tally>;

/**
 * Sums the totals of all events. Events are not validated; the statement rejects invalid ones.
 *
 * @param counted called for each event
 * @throws UnreadableChunk
 */
export function talliesOfAll(
  batches: readonly Uint8Array[],
  read: ReadBatch,
  counted: (event: ChunkEvent) => void,
): Tallies {
  const tallies = new GrowingTallies();
  for (const body of batches) {
    reading(() => {
      for (const event of read(body)) {
        tallies.add(event.batch.tenantId, event.event);
        counted(event);
      }
    });
  }
  return tallies.byTenant;
}

/** Sums the totals of the events with these keys, each once. @throws UnreadableChunk */
export function talliesOf(batches: readonly Uint8Array[], keys: readonly EventKey[]): Tallies {
  const wanted = new Set(keys.map(textOf));
  const tallies = new GrowingTallies();
  for (const body of batches) {
    reading(() => {
      const { tenantId, events } = parseBatch(body) as EventBatch;
      for (const event of events) {
        const { occurredAt, id } = event;
        if (wanted.delete(textOf({ tenantId, occurredAt, id }))) tallies.add(tenantId, event);
      }
    });
  }
  if (wanted.size > 0) throw new UnreadableChunk('events were stored that are not found in their chunk');
  return tallies.byTenant;
}

class GrowingTallies {
  readonly byTenant = new Map<string, GrowingTally>();

  add(tenantId: string, event: FoldedEvent): void {
    let tally = this.byTenant.get(tenantId);
    if (tally === undefined) {
      tally = new GrowingTally();
      this.byTenant.set(tenantId, tally);
    }
    tally.add(event);
  }
}

/** Reads one batch at a time to limit memory. */
function reading(read: () => void): void {
  try {
    read();
  } catch (cause) {
    throw new UnreadableChunk('a chunk cannot be read', { cause });
  }
}

/** Ids contain no line breaks. */
function textOf({ tenantId, occurredAt, id }: EventKey): string {
  return `${tenantId}\n${occurredAt}\n${id}`;
}
