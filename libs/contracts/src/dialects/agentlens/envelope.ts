import { z } from 'zod';
import { type JsonObject, SEVERITIES, type Severity } from '../../events.ts';
import { ClientId, Instant } from '../../ids.ts';
import { isObject } from './payload-schema.ts';

/** Not `z.record`, because the sanitizer has already checked every member. */
const object = z.custom<JsonObject>(isObject, 'must be an object');

/**
 * An event as a client sends it, without the parts that depend on its type. Other members at this level are dropped.
 */
const Envelope = z.object({
  id: ClientId.nullish(),
  sessionId: ClientId,
  agentId: ClientId,
  severity: z.enum(SEVERITIES, `must be one of ${SEVERITIES.join(', ')}`),
  payload: object,
  metadata: object,
  timestamp: z
    .string()
    .regex(
      z.regexes.datetime({ precision: 3 }),
      'must be an RFC 3339 time with an offset, such as 2026-03-01T12:00:00.000Z or 2026-03-01T13:00:00+01:00',
    )
    .nullish(),
  tags: z.array(z.string().max(256)).max(100).nullish(),
});
export type Envelope = z.infer<typeof Envelope>;

/**
 * Fast path for an envelope that needs no tolerance, which is almost every one. Returns undefined if `parseEnvelope`
 * has to read it. A property test compares the two.
 */
export function plainEnvelope(raw: JsonObject): Envelope | undefined {
  const { id, sessionId, agentId, severity = 'info', payload, metadata = {}, timestamp, tags } = raw;
  if (!isClientId(sessionId) || !isClientId(agentId) || !isSeverity(severity)) return undefined;
  if (id !== undefined && !isClientId(id)) return undefined;
  if (!isObject(payload) || !isObject(metadata) || tags !== undefined) return undefined;
  if (timestamp !== undefined && !(typeof timestamp === 'string' && INSTANT.test(timestamp))) return undefined;
  return { id, sessionId, agentId, severity, payload, metadata, timestamp, tags };
}

const INSTANT = z.regexes.datetime({ precision: 3 });
const LONGEST_ID = 256;
const FIRST_PRINTABLE = 0x20;
const DELETE = 0x7f;

function isClientId(value: unknown): value is string {
  if (typeof value !== 'string' || value.length === 0 || value.length > LONGEST_ID) return false;
  for (let index = 0; index < value.length; index++) {
    const code = value.charCodeAt(index);
    if (code < FIRST_PRINTABLE || code === DELETE) return false;
  }
  return true;
}

function isSeverity(value: unknown): value is Severity {
  return SEVERITIES.some((severity) => severity === value);
}

/** Reads the envelope tolerantly: "warning", any RFC 3339 offset, null for absent. */
export function parseEnvelope(raw: JsonObject) {
  const { id, sessionId, agentId, severity, payload, metadata, timestamp, tags } = raw;
  return Envelope.safeParse({
    id,
    sessionId,
    agentId,
    // Python's logging and the plugins say "warning".
    severity: severity === 'warning' ? 'warn' : (severity ?? 'info'),
    payload: payload ?? {},
    metadata: metadata ?? {},
    timestamp: typeof timestamp === 'string' ? utcOf(timestamp) : timestamp,
    tags,
  });
}

const RFC3339 = z.iso.datetime({ offset: true });

/**
 * Converts any RFC 3339 time to UTC with milliseconds, truncating finer digits. Returns other text unchanged, to be
 * rejected.
 */
function utcOf(text: string): string {
  if (Instant.safeParse(text).success) return text;
  return RFC3339.safeParse(text).success ? new Date(text).toISOString() : text;
}
