import { sha256Hex } from '#sha256';
import {
  canonicalContents,
  canonicalJson,
  formAfter,
  formBefore,
  type HashedFields,
  quoted,
} from './canonical-form.ts';
import type { AgentEvent, EventBatch } from './events.ts';

/** An event as serialized for the wire. */
interface WrittenEvent {
  /** SHA-256 (hex) of its canonical form. */
  readonly hash: string;
  /** Equals JSON.stringify of the event with this hash, except for the order of members. */
  readonly json: string;
}

/**
 * Hashes and serializes an event.
 *
 * @param hashed fields that the hash covers, if they differ from the event's own
 */
export function writeEvent(event: Omit<AgentEvent, 'hash'>, hashed: HashedFields = event): WrittenEvent {
  const before = formBefore(hashed);
  const contents = canonicalContents(hashed);
  const form = before + contents + formAfter(hashed);
  const hash = sha256Hex(form);
  // Hashing flattened the concatenated string, so a slice of it is cheaper than building the contents again.
  const own = hashed === event ? form.slice(before.length, before.length + contents.length) : canonicalContents(event);
  return { hash, json: eventJson(event, hash, own) };
}

/** A spec checks that every member of the schema is included. */
function eventJson(event: Omit<AgentEvent, 'hash'>, hash: string, contents: string): string {
  return (
    `{"id":${quoted(event.id)},"agentId":${quoted(event.agentId)},"runId":${quoted(event.runId)},` +
    `"kind":"${event.kind}","dialect":${quoted(event.dialect)},"sourceType":${quoted(event.sourceType)},` +
    `"severity":"${event.severity}","isError":${event.isError},"occurredAt":"${event.occurredAt}",` +
    `"retryable":${event.retryable},"hash":"${hash}",` +
    text('"sessionId":', event.sessionId) +
    text('"parentRunId":', event.parentRunId) +
    text('"parentToolUseId":', event.parentToolUseId) +
    text('"actorId":', event.actorId) +
    text('"agentName":', event.agentName) +
    text('"agentVersion":', event.agentVersion) +
    text('"toolName":', event.toolName) +
    text('"callId":', event.callId) +
    text('"model":', event.model) +
    text('"provider":', event.provider) +
    text('"outcome":', event.outcome) +
    (event.usage === undefined ? '' : `"usage":${canonicalJson(event.usage)},`) +
    (event.tags === undefined ? '' : `"tags":${canonicalJson(event.tags)},`) +
    `${contents}}`
  );
}

function text(label: string, value: string | undefined): string {
  return value === undefined ? '' : `${label}${quoted(value)},`;
}

const COMMA = 0x2c;
const BRACKET = 0x5d;
const BRACE = 0x7d;

/**
 * Serializes a batch as JSON in UTF-8 from events that are already JSON. Writes them directly into the buffer: joining
 * them into one string would copy them twice more, and a string over 128 kB gets pages that the operating system zeroes
 * each time.
 *
 * @param events at least one
 * @param bytes their size in UTF-8, including a separator for each
 */
export function batchBody(
  { id, tenantId, partition, receivedAt }: Omit<EventBatch, 'events'>,
  events: readonly string[],
  bytes: number,
): Buffer {
  const envelope = `${JSON.stringify({ id, tenantId, partition, receivedAt }).slice(0, -1)},"events":[`;
  const body = Buffer.allocUnsafe(Buffer.byteLength(envelope) + bytes + 1);
  let at = body.write(envelope);
  for (const event of events) {
    at += body.write(event, at);
    body[at++] = COMMA;
  }
  if (at !== body.length - 1) throw new Error(`events of ${bytes} bytes do not end where they should`);
  body[at - 1] = BRACKET;
  body[at] = BRACE;
  return body;
}
