import type { CanonicalContents } from './canonical-form.ts';
import type { AgentEvent, EventBatch } from './events.ts';

/**
 * An event as JSON, equal to what JSON.stringify makes of it but for the order of members. Its contents were written down
 * for its hash already, so they are not written a second time.
 */
export function eventJson(event: AgentEvent, { payload, metadata }: CanonicalContents): string {
  const facts = { ...event, payload: undefined, metadata: undefined };
  return `${JSON.stringify(facts).slice(0, -1)},"payload":${payload},"metadata":${metadata}}`;
}

/** A batch as JSON, of events that are JSON already. */
export function batchJson({ id, tenantId, partition, receivedAt }: EventBatch, events: readonly string[]): string {
  return `${JSON.stringify({ id, tenantId, partition, receivedAt }).slice(0, -1)},"events":[${events.join(',')}]}`;
}
