import {
  batchBody,
  type EventBatch,
  type EventBatchFacts,
  eventBatchHeaders,
  subjectOfEvents,
} from '@agentlens/contracts';
import type { EncodedMessage } from '@agentlens/messaging';

/** A batch on its way, written down: its events need not be kept until it is safe. */
export interface OutgoingBatch {
  readonly tenantId: string;
  /** How many it holds. */
  readonly events: number;
  readonly message: EncodedMessage;
}

/** What is said of a batch beside its events. */
type BatchLabel = Omit<EventBatch, 'events'> & EventBatchFacts;

/**
 * @param texts its events as JSON
 * @param bytes what they take in UTF-8, with a separator for each
 */
export function outgoing(label: BatchLabel, texts: readonly string[], bytes: number): OutgoingBatch {
  const { id, tenantId, events } = label;
  const body = batchBody(label, texts, bytes);
  const message = { subject: subjectOfEvents(label), messageId: id, headers: eventBatchHeaders(label), body };
  return { tenantId, events, message };
}
