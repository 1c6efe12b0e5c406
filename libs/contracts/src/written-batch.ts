import { BETWEEN_EVENTS, batchPieces } from './batch-pieces.ts';
import type { AgentEvent, EventBatch } from './events.ts';

/** An event without the client's own contents. */
export type EventFacts = Omit<AgentEvent, 'payload' | 'metadata'>;

/** An event with parsed facts and unparsed contents, which are JSON text. */
interface WrittenContents {
  readonly facts: EventFacts;
  readonly metadata: string;
  readonly payload: string;
}

interface WrittenBatch extends Omit<EventBatch, 'events'> {
  readonly events: readonly WrittenContents[];
}

/** Separators between the parts, as `batchBody` and `writeEvent` write them. */
const EVENTS = ',"events":[';
const METADATA = ',"metadata":';
const PAYLOAD = ',"payload":';
/** End of the last event and of the batch, after its payload. */
const END = '}]}';

/**
 * Reads the text of a batch as `batchBody` writes it, without parsing the contents of its events, which cost as much as
 * the rest. Returns undefined if the text has another format, so that only `JSON.parse` can read it.
 *
 * Contents may contain a separator, too. The result then has too many events, or contents that are not valid JSON. The
 * caller must therefore compare the count and pass the contents to a parser. If both are right, so is the division,
 * because JSON is unambiguous. Nothing else is validated.
 */
export function readWrittenBatch(body: Uint8Array, most?: number): WrittenBatch | undefined {
  const pieces = batchPieces(body, most);
  const [first = ''] = pieces;
  const envelopeEnd = first.indexOf(EVENTS);
  if (envelopeEnd < 0 || !pieces.at(-1)?.endsWith(END)) return undefined;
  try {
    const envelope = JSON.parse(`${first.slice(0, envelopeEnd)}}`) as Omit<EventBatch, 'events'>;
    const events: WrittenContents[] = [];
    for (const [index, piece] of pieces.entries()) {
      const from = index === 0 ? envelopeEnd + EVENTS.length : 0;
      const end = piece.length - (index < pieces.length - 1 ? '}'.length : END.length);
      if (!readEvents(piece.slice(from, end), events)) return undefined;
    }
    return { ...envelope, events };
  } catch {
    return undefined;
  }
}

/**
 * Adds the events of a text that ends with the payload of the last one.
 *
 * @returns whether they have the expected format
 * @throws SyntaxError
 */
function readEvents(text: string, events: WrittenContents[]): boolean {
  const facts: string[] = [];
  const contents: { readonly metadata: string; readonly payload: string }[] = [];
  for (let at = 0; at < text.length; ) {
    const next = text.indexOf(BETWEEN_EVENTS, at);
    const end = next < 0 ? text.length : next + '}'.length;
    const metadataAt = text.indexOf(METADATA, at);
    const payloadAt = metadataAt < 0 ? -1 : text.indexOf(PAYLOAD, metadataAt);
    if (payloadAt < 0 || payloadAt > end) return false;
    const another = text.indexOf(PAYLOAD, payloadAt + 1);
    if (another >= 0 && another < end) return false;
    facts.push(text.slice(at, metadataAt));
    contents.push({
      metadata: text.slice(metadataAt + METADATA.length, payloadAt),
      payload: text.slice(payloadAt + PAYLOAD.length, end),
    });
    at = end + '},'.length;
  }
  const read = JSON.parse(`[${facts.join('},')}}]`) as readonly EventFacts[];
  if (read.length !== contents.length) return false;
  contents.forEach((own, index) => {
    events.push({ facts: read[index] as EventFacts, ...own });
  });
  return true;
}
