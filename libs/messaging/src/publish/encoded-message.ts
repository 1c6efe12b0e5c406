import type { CloudEventAttributes, Topic } from '@agentlens/contracts';

/** Marks a redriven message for a single group; other groups settle it without handling it. */
export const ONLY_GROUP = 'agentlens-only-group';
/**
 * Original id of a redriven message. It gets a new broker id, because the broker would drop the old one as a duplicate.
 */
export const ORIGINAL_ID = 'agentlens-message-id';
export const JSON_CONTENT = 'application/json';

const NEEDS_ENCODING = /[^\x21-\x7e]|["%]/u;
const NEEDS_ENCODING_ALL = /[^\x21-\x7e]|["%]/gu;
const encoder = new TextEncoder();

/**
 * Encodes a header value for the CloudEvents NATS binding (1.0.2, section 3.1.3.2): space, double quote, percent and
 * everything outside printable ASCII become `%XX` per UTF-8 byte. This also prevents header injection.
 */
export function encodeHeader(value: string): string {
  if (!NEEDS_ENCODING.test(value)) return value;
  return value
    .toWellFormed()
    .replace(NEEDS_ENCODING_ALL, (char) =>
      [...encoder.encode(char)].map((byte) => `%${byte.toString(16).toUpperCase().padStart(2, '0')}`).join(''),
    );
}

/** Reverses `encodeHeader`; returns values that are not encoded unchanged. */
export function decodeHeader(value: string): string {
  if (!value.includes('%')) return value;
  try {
    return decodeURIComponent(value);
  } catch {
    return value;
  }
}

/** `ce-*` headers of a public event in NATS binary mode: attributes in headers, data as the body. */
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

/** A message ready to publish. The value it was encoded from can be garbage collected. */
export interface EncodedMessage {
  readonly subject: string;
  /** Deduplication id. */
  readonly messageId: string | undefined;
  /** Additional headers, not percent-encoded. */
  readonly headers: Readonly<Record<string, string>>;
  /** JSON in UTF-8. */
  readonly body: Uint8Array;
}

/** Encodes a message, with its CloudEvent attributes and its topic's summary as headers. */
export function encodeMessage<T>(topic: Topic<T>, message: T): EncodedMessage {
  const event = topic.cloudEvent?.(message);
  return {
    subject: topic.subject(message),
    messageId: topic.messageId(message),
    headers: { ...(event && cloudEventHeaders(event)), ...topic.summary?.headersOf(message) },
    body: Buffer.from(JSON.stringify(message)),
  };
}
