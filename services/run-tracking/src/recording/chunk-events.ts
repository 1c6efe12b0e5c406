import { type EventBatch, parseBatch, readWrittenBatch } from '@agentlens/contracts';
import { type FoldedEvent, readsPayload } from '@agentlens/runs';

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
