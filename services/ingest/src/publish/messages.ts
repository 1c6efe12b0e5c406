import {
  batchBody,
  type EventBatch,
  type EventBatchFacts,
  eventBatchHeaders,
  subjectOfEvents,
} from '@agentlens/contracts';
import type { EncodedMessage } from '@agentlens/messaging';

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
