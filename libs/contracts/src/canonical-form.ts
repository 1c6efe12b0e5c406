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

/** SHA-256 (hex) of the UTF-8 bytes of a text. */
export function sha256Hex(text: string): string {
  return hash('sha256', text, 'hex');
}

/**
 * RFC 8785 (JCS): keys sorted by UTF-16 code units, no white space, numbers as ECMAScript writes them. Members that are
 * `undefined` are left out, as in JSON.stringify. The caller bounds the depth; text must be well formed.
 */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map((item) => canonicalJson(item ?? null)).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null';
  const record = value as Record<string, unknown>;
  const members: string[] = [];
  for (const key of Object.keys(record).sort()) {
    const member = record[key];
    if (member !== undefined) members.push(`${JSON.stringify(key)}:${canonicalJson(member)}`);
  }
  return `{${members.join(',')}}`;
}
