import { agentEvents, type EventBatch } from '@agentlens/contracts';
import type { Received } from '@agentlens/messaging';

/** A message of the bus, from a batch or from the raw text of one. */
export function messageOf(batch: EventBatch | string, attempt = 1): Received<EventBatch> {
  const text = typeof batch === 'string' ? batch : JSON.stringify(batch);
  const value = JSON.parse(text) as EventBatch;
  return {
    value,
    raw: Buffer.from(text),
    subject: agentEvents.subject(value),
    messageId: value.id,
    attempt,
    sequence: 1,
    publishedAtMs: Date.parse(value.receivedAt),
    headers: {},
  };
}
