import { type AgentEvent, derivedId, partitionOf } from '@agentlens/contracts';
import type { IdentifiedEvent } from './identity.ts';
import { LIMITS } from './limits.ts';

/** The comma between two events. */
const SEPARATOR_BYTES = 1;

/** Events of one tenant and partition that fit one message. */
export interface Part {
  readonly tenantId: string;
  readonly partition: string;
  readonly events: readonly AgentEvent[];
  /** The events as JSON. */
  readonly texts: readonly string[];
  readonly bytes: number;
}

/** A request's events by partition, in request order, cut where a message would grow too large. */
export function partsOf(tenantId: string, events: readonly IdentifiedEvent[]): readonly Part[] {
  const open = new Map<string, { events: AgentEvent[]; texts: string[]; bytes: number }>();
  const full: Part[] = [];
  for (const { event, json, bytes } of events) {
    const partition = partitionOf(tenantId, event.agentId);
    let part = open.get(partition);
    if (part !== undefined && part.bytes + bytes + SEPARATOR_BYTES > LIMITS.messageBytes) {
      full.push({ tenantId, partition, ...part });
      part = undefined;
    }
    if (part === undefined) {
      part = { events: [], texts: [], bytes: 0 };
      open.set(partition, part);
    }
    part.events.push(event);
    part.texts.push(json);
    part.bytes += bytes + SEPARATOR_BYTES;
  }
  return [...full, ...[...open].map(([partition, part]) => ({ tenantId, partition, ...part }))];
}

/**
 * The id of a message under an Idempotency-Key: the same for the same events, so that the broker drops a retry, and
 * another one as soon as a retry holds another event.
 */
export function messageIdOf(part: Part, key: string, receivedAtMs: number): string {
  const content = part.events.map((event) => event.hash).join('');
  return derivedId(receivedAtMs, part.tenantId, key, part.partition, content);
}
