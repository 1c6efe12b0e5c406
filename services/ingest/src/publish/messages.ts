import {
  type AgentEvent,
  batchBody,
  derivedId,
  type EventBatch,
  type EventBatchFacts,
  eventBatchHeaders,
  partitionOf,
  subjectOfEvents,
} from '@agentlens/contracts';
import type { EncodedMessage } from '@agentlens/messaging';
import type { IdentifiedEvent } from '../intake/identity.ts';
import { LIMITS } from '../intake/limits.ts';

/** The comma between two events. */
const SEPARATOR_BYTES = 1;

/** Events of one tenant that fit one message. */
export interface MessagePart {
  readonly tenantId: string;
  readonly partition: string;
  readonly events: readonly AgentEvent[];
  /** The events as JSON. */
  readonly texts: readonly string[];
  readonly bytes: number;
}

interface OpenPart extends MessagePart {
  readonly events: AgentEvent[];
  readonly texts: string[];
  bytes: number;
}

/** Splits the events of a request, in order, into messages within the size limit. */
export function messageParts(tenantId: string, events: readonly IdentifiedEvent[]): readonly MessagePart[] {
  const partition = partitionOf(tenantId);
  const parts: OpenPart[] = [];
  let open: OpenPart | undefined;
  for (const { event, json, bytes } of events) {
    if (open === undefined || open.bytes + bytes + SEPARATOR_BYTES > LIMITS.messageBytes) {
      open = { tenantId, partition, events: [], texts: [], bytes: 0 };
      parts.push(open);
    }
    open.events.push(event);
    open.texts.push(json);
    open.bytes += bytes + SEPARATOR_BYTES;
  }
  return parts;
}

/**
 * The id of a message under an Idempotency-Key. It is the same for the same events, so that the broker drops a retry,
 * and differs as soon as a retry holds another event.
 */
export function messageIdOf(part: MessagePart, key: string, receivedAtMs: number): string {
  const content = part.events.map((event) => event.hash).join('');
  return derivedId(receivedAtMs, part.tenantId, key, part.partition, content);
}

/** A serialised batch. Its events need not be kept until it is safe. */
export interface OutgoingBatch {
  readonly tenantId: string;
  /** The number of events. */
  readonly events: number;
  readonly message: EncodedMessage;
}

/** The batch without its events. */
type BatchLabel = Omit<EventBatch, 'events'> & EventBatchFacts;

/**
 * @param texts its events as JSON
 * @param bytes their size in UTF-8, with a separator for each
 */
export function outgoing(label: BatchLabel, texts: readonly string[], bytes: number): OutgoingBatch {
  const { id, tenantId, events } = label;
  const body = batchBody(label, texts, bytes);
  const message = { subject: subjectOfEvents(label), messageId: id, headers: eventBatchHeaders(label), body };
  return { tenantId, events, message };
}
