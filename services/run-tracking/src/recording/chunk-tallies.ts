import { type EventBatch, parseBatch, readWrittenBatch } from '@agentlens/contracts';
import { type FoldedEvent, GrowingTally, readsPayload, type Tally } from '@agentlens/runs';

/** An event of a chunk, and its contents as JSON text. */
export interface ChunkEvent {
  readonly batch: Pick<EventBatch, 'tenantId' | 'receivedAt'>;
  readonly event: FoldedEvent;
  readonly payload: string;
  readonly metadata: string;
}

/** Of the text of a batch in UTF-8. @throws where it cannot be read, or not be written down as it is */
export type ReadBatch = (body: Uint8Array) => readonly ChunkEvent[];

/** As the gateway wrote it, with contents that nobody parsed; what `readWrittenBatch` says of it is left to the caller. */
export const asWritten: ReadBatch = (body) => {
  const batch = readWrittenBatch(body);
  if (batch === undefined) return asParsed(body);
  return batch.events.map(({ facts, payload, metadata }) => {
    const event = readsPayload(facts.kind) ? { ...facts, payload: JSON.parse(payload) } : facts;
    return { batch, event, payload, metadata };
  });
};

/** Whatever its form. */
export const asParsed: ReadBatch = (body) => {
  const batch = parseBatch(body) as EventBatch;
  return batch.events.map((event) => {
    const { payload, metadata } = event;
    return { batch, event, payload: jsonText(payload), metadata: jsonText(metadata) };
  });
};

/** @throws RangeError where it holds a number that JavaScript reads as infinite, and would write as null */
export function jsonText(value: unknown): string {
  const text = JSON.stringify(value);
  return text.includes('null') ? JSON.stringify(value, asItIs) : text;
}

function asItIs(_key: string, value: unknown): unknown {
  if (typeof value === 'number' && !Number.isFinite(value)) throw new RangeError('a number is too big');
  return value;
}

/** What makes an event the same one. */
export interface EventKey {
  readonly tenantId: string;
  readonly occurredAt: string;
  readonly id: string;
}

/** A chunk that nobody can read or count, as its text comes from the bus unseen. */
export class UnreadableChunk extends Error {
  override readonly name = 'UnreadableChunk';
}

/** What events amount to, by tenant. */
export type Tallies = ReadonlyMap<string, Tally>;

/**
 * What all events of these batches amount to. They are read to be counted and not looked into otherwise: the statement
 * refuses what is no event.
 * @param counted is told of each event
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

/** What those events amount to that have these keys, each once. @throws UnreadableChunk */
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

/** One batch after the other, so that few of them are in memory at a time. */
function reading(read: () => void): void {
  try {
    read();
  } catch (cause) {
    throw new UnreadableChunk('a chunk cannot be read', { cause });
  }
}

/** Ids hold no line breaks. */
function textOf({ tenantId, occurredAt, id }: EventKey): string {
  return `${tenantId}\n${occurredAt}\n${id}`;
}
