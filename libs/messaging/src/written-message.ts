import type { Topic } from '@agentlens/contracts';
import { cloudEventHeaders } from './message-headers.ts';

/** A message as it is published. Whoever holds it need not hold what it was made of. */
export interface WrittenMessage {
  readonly subject: string;
  /** What the broker dedupes by. */
  readonly messageId: string | undefined;
  /** Beside those that every message has, not encoded. */
  readonly headers: Readonly<Record<string, string>>;
  /** JSON in UTF-8. */
  readonly body: Uint8Array;
}

/** With its attributes as a CloudEvent and what its topic sums up as headers. */
export function writtenMessage<T>(topic: Topic<T>, message: T): WrittenMessage {
  const event = topic.cloudEvent?.(message);
  return {
    subject: topic.subject(message),
    messageId: topic.messageId(message),
    headers: { ...(event && cloudEventHeaders(event)), ...topic.summary?.headersOf(message) },
    body: Buffer.from(JSON.stringify(message)),
  };
}
