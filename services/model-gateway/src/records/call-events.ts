import {
  type AgentEvent,
  batchBody,
  type EventBatch,
  eventBatchHeaders,
  factsOfBatch,
  type PriceBook,
  partitionOf,
  subjectOfEvents,
  type TranslatedEvent,
  timeOrderedId,
  translateAgentLensEvent,
  writeEvent,
} from '@agentlens/contracts';
import type { EncodedMessage } from '@agentlens/messaging';

/** One event about a call, in the vocabulary of AgentLens. */
export interface CallEvent {
  readonly tenantId: string;
  readonly id: string;
  readonly runId: string;
  readonly agentId: string;
  readonly sessionId: string | undefined;
  readonly eventType: 'llm_call' | 'llm_response';
  readonly severity: 'info' | 'warn' | 'error';
  readonly payload: Readonly<Record<string, unknown>>;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly atMs: number;
}

/** Prices the event like one that an agent reports. */
export function translateCallEvent(event: CallEvent, prices: PriceBook): TranslatedEvent {
  const { runId, sessionId, atMs, tenantId: _, ...rest } = event;
  const raw = { ...rest, sessionId: runId, timestamp: new Date(atMs).toISOString() };
  const translation = translateAgentLensEvent(raw, prices, atMs);
  if (!translation.ok) throw new Error(`an event of the gateway is invalid: ${JSON.stringify(translation.details)}`);
  const { facts } = translation.event;
  return { ...translation.event, facts: sessionId === undefined ? facts : { ...facts, sessionId } };
}

/**
 * Writes an event as the message that ingest would publish for it. The message has the id of the event, so that the
 * broker drops a repetition.
 */
export function writeEventMessage(
  tenantId: string,
  id: string,
  { facts }: TranslatedEvent,
  atMs: number,
): EncodedMessage {
  const occurredAt = new Date(atMs).toISOString();
  const unhashed = { ...facts, id, occurredAt, retryable: true };
  const { hash, json } = writeEvent(unhashed);
  const event: AgentEvent = { ...unhashed, hash };
  const label: Omit<EventBatch, 'events'> = {
    id: timeOrderedId(atMs),
    tenantId,
    partition: partitionOf(tenantId),
    receivedAt: occurredAt,
  };
  const described = { ...label, ...factsOfBatch({ receivedAt: occurredAt, events: [event] }) };
  const body = batchBody(described, [json], Buffer.byteLength(json) + 1);
  const subject = subjectOfEvents(label);
  return { subject, messageId: `${tenantId}/${id}`, headers: eventBatchHeaders(described), body };
}
