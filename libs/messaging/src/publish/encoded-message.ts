import type { CloudEventAttributes, Topic } from '@agentlens/contracts';

/** A redriven message is for one group; the others settle it unseen. */
export const ONLY_GROUP = 'agentlens-only-group';
/** The id a redriven message had at first; its broker id must differ, or the broker would drop it as a duplicate. */
export const ORIGINAL_ID = 'agentlens-message-id';
export const JSON_CONTENT = 'application/json';

const NEEDS_ENCODING = /[^\x21-\x7e]|["%]/u;
const NEEDS_ENCODING_ALL = /[^\x21-\x7e]|["%]/gu;
const encoder = new TextEncoder();

/**
 * Header value as the CloudEvents NATS binding wants it (1.0.2, 3.1.3.2): space, double quote, percent and everything
 * outside printable ASCII becomes `%XX` per UTF-8 byte. So no id or subject can break out of its header line.
 */
export function encodeHeader(value: string): string {
  if (!NEEDS_ENCODING.test(value)) return value;
  return value
    .toWellFormed()
    .replace(NEEDS_ENCODING_ALL, (char) =>
      [...encoder.encode(char)].map((byte) => `%${byte.toString(16).toUpperCase().padStart(2, '0')}`).join(''),
    );
}

/** Undoes `encodeHeader`; a value that is not encoded that way is given back as it is. */
export function decodeHeader(value: string): string {
  if (!value.includes('%')) return value;
  try {
    return decodeURIComponent(value);
  } catch {
    return value;
  }
}

/** The `ce-*` headers of an outward fact, NATS binary mode: attributes in headers, the data as the body. */
export function cloudEventHeaders(event: CloudEventAttributes): Readonly<Record<string, string>> {
  return {
    'ce-specversion': '1.0',
    'ce-id': event.id,
    'ce-source': event.source,
    'ce-type': event.type,
    'ce-time': event.time,
    ...(event.subject !== undefined && { 'ce-subject': event.subject }),
  };
}

/** A message as it is published. Whoever holds it need not hold what it was made of. */
export interface EncodedMessage {
  readonly subject: string;
  /** What the broker dedupes by. */
  readonly messageId: string | undefined;
  /** Beside those that every message has, not encoded. */
  readonly headers: Readonly<Record<string, string>>;
  /** JSON in UTF-8. */
  readonly body: Uint8Array;
}

/** With its attributes as a CloudEvent and what its topic sums up as headers. */
export function encodeMessage<T>(topic: Topic<T>, message: T): EncodedMessage {
  const event = topic.cloudEvent?.(message);
  return {
    subject: topic.subject(message),
    messageId: topic.messageId(message),
    headers: { ...(event && cloudEventHeaders(event)), ...topic.summary?.headersOf(message) },
    body: Buffer.from(JSON.stringify(message)),
  };
}
