import { hash } from 'node:crypto';
import type { AgentEvent } from './events.ts';

/** What makes two events the same event: everything the client said, and nothing the platform worked out. */
export type HashedFields = Pick<
  AgentEvent,
  'id' | 'occurredAt' | 'runId' | 'agentId' | 'dialect' | 'sourceType' | 'severity' | 'payload' | 'metadata' | 'tags'
>;

const FORM_VERSION = 1;

/**
 * The text an event's hash is taken over: RFC 8785 canonical JSON of its public names, documented in
 * docs/wire-format.md. Prices are not in it: a newer price table must not turn a retry into another event.
 */
export function canonicalForm(event: HashedFields): string {
  return canonicalJson({
    v: FORM_VERSION,
    dialect: event.dialect,
    id: event.id,
    timestamp: event.occurredAt,
    sessionId: event.runId,
    agentId: event.agentId,
    eventType: event.sourceType,
    severity: event.severity,
    payload: event.payload,
    metadata: event.metadata,
    tags: event.tags,
  });
}

/** SHA-256 (hex) of bytes, or of a text in UTF-8. */
export function sha256Hex(content: string | Uint8Array): string {
  return hash('sha256', content, 'hex');
}

/**
 * RFC 8785 (JCS): keys sorted by UTF-16 code units, no white space, numbers as ECMAScript writes them. Members that are
 * `undefined` are left out, as in JSON.stringify. The caller bounds the depth; text must be well formed.
 */
export function canonicalJson(value: unknown): string {
  if (typeof value === 'string') return quoted(value);
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null';
  return Array.isArray(value) ? canonicalList(value) : canonicalObject(value as Record<string, unknown>);
}

function canonicalList(items: readonly unknown[]): string {
  let text = '[';
  for (let index = 0; index < items.length; index++) {
    if (index > 0) text += ',';
    text += canonicalJson(items[index] ?? null);
  }
  return `${text}]`;
}

function canonicalObject(record: Record<string, unknown>): string {
  let text = '{';
  for (const key of Object.keys(record).sort()) {
    const member = record[key];
    if (member === undefined) continue;
    if (text.length > 1) text += ',';
    text += `${quoted(key)}:${canonicalJson(member)}`;
  }
  return `${text}}`;
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters JSON must escape
const ESCAPED = /["\\\u0000-\u001f]/;

/** Most text needs no escape, and saying so is several times cheaper than JSON.stringify of a short text. */
function quoted(text: string): string {
  return ESCAPED.test(text) ? JSON.stringify(text) : `"${text}"`;
}
