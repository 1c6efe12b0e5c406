import type { AgentEvent, EventBatch } from './events.ts';

/** An event without what its client put into it at will. */
export type EventFacts = Omit<AgentEvent, 'payload' | 'metadata'>;

/** An event that is read but for its contents, which are as they were written: JSON text. */
export interface WrittenContents {
  readonly facts: EventFacts;
  readonly metadata: string;
  readonly payload: string;
}

export interface WrittenBatch extends Omit<EventBatch, 'events'> {
  readonly events: readonly WrittenContents[];
}

/** What stands between the parts where `batchBody` and `writeEvent` wrote them. */
const EVENTS = ',"events":[';
const METADATA = ',"metadata":';
const PAYLOAD = ',"payload":';
/** The end of a payload and of its event, and the beginning of the next event. */
const NEXT = '}},{"id":';
/** The end of the last event and of the batch, behind its payload. */
const END = '}]}';

/**
 * Reads the text of a batch as `batchBody` writes it, all but the contents of its events: to parse those costs as much as
 * the rest. Undefined where the text is not of that form, and only `JSON.parse` can say what it is.
 *
 * Contents may hold what stands between parts, too. Then there are more events than were written, or contents are no
 * JSON; so the caller compares the count, and gives the contents to somebody who parses them. Where both are right so is
 * the division, as JSON can be read in one way only. What is read is not looked into otherwise.
 */
export function readWrittenBatch(text: string): WrittenBatch | undefined {
  const from = text.indexOf(EVENTS);
  if (from < 0 || !text.endsWith(END)) return undefined;
  const facts: string[] = [];
  const contents: { readonly metadata: string; readonly payload: string }[] = [];
  const last = text.length - END.length;
  for (let at = from + EVENTS.length; at < last; ) {
    const next = text.indexOf(NEXT, at);
    const end = next < 0 ? last : next + 1;
    const metadataAt = text.indexOf(METADATA, at);
    const payloadAt = metadataAt < 0 ? -1 : text.indexOf(PAYLOAD, metadataAt);
    if (payloadAt < 0 || payloadAt > end) return undefined;
    const another = text.indexOf(PAYLOAD, payloadAt + 1);
    if (another >= 0 && another < end) return undefined;
    facts.push(text.slice(at, metadataAt));
    contents.push({
      metadata: text.slice(metadataAt + METADATA.length, payloadAt),
      payload: text.slice(payloadAt + PAYLOAD.length, end),
    });
    at = end + '},'.length;
  }
  try {
    const read = JSON.parse(`[${facts.join('},')}}]`) as readonly EventFacts[];
    if (read.length !== contents.length) return undefined;
    const envelope = JSON.parse(`${text.slice(0, from)}}`) as Omit<EventBatch, 'events'>;
    return { ...envelope, events: contents.map((own, index) => ({ facts: read[index] as EventFacts, ...own })) };
  } catch {
    return undefined;
  }
}
