import { z } from 'zod';
import { EVENT_KINDS, type EventKind, type JsonObject } from '../../events.ts';
import { ClientId } from '../../ids.ts';
import { Names } from './tolerant.ts';

export const AUDIT_SCHEMA = 'handlebar.audit.v1';

const object = z.custom<JsonObject>(
  (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
  'must be an object',
);

const RFC3339 = z.iso.datetime({ offset: true });
/** Range of a Date. */
const MAX_DATE_MS = 8.64e15;

/** Reads both forms of a time, RFC 3339 with any offset or epoch milliseconds, as epoch milliseconds. */
const Time = z
  .union([z.string(), z.number()])
  .transform((time) => (typeof time === 'number' ? Math.trunc(time) : millisecondsOf(time)))
  .refine((ms) => Number.isFinite(ms) && Math.abs(ms) <= MAX_DATE_MS, 'must be an RFC 3339 time or epoch milliseconds');

function millisecondsOf(text: string): number {
  return RFC3339.safeParse(text).success ? Date.parse(text) : Number.NaN;
}

/**
 * An audit event without the parts that depend on its kind. `id`, parents, `tags` and `metadata` are AgentLens
 * extensions.
 */
export const AuditEnvelope = z.object({
  schema: z.string().max(256).nullish(),
  id: ClientId.nullish(),
  ts: Time.nullish(),
  runId: ClientId,
  sessionId: ClientId.nullish(),
  actorExternalId: ClientId.nullish().catch(null),
  stepIndex: z.number().int().min(0).max(1e9).nullish().catch(null),
  otel: z.unknown().optional(),
  sample: z.unknown().optional(),
  redaction: z.unknown().optional(),
  parentRunId: ClientId.nullish(),
  parentToolUseId: ClientId.nullish(),
  tags: Names.nullish().catch(null),
  metadata: object.nullish(),
  kind: z.string().min(1, 'must not be empty').max(256, 'must be at most 256 characters'),
  data: object.nullish(),
});
export type AuditEnvelope = z.infer<typeof AuditEnvelope>;

/** Maps the client's kinds to the platform's. */
export const AUDIT_KINDS = {
  'run.started': 'run.started',
  'message.raw.created': 'message.created',
  'llm.result': 'llm.completed',
  'tool.decision': 'tool.decided',
  'tool.result': 'tool.completed',
  'run.ended': 'run.ended',
  error: 'error.raised',
} as const satisfies Record<string, EventKind>;
type AuditKind = keyof typeof AUDIT_KINDS;

export const AUDIT_KIND_NAMES = Object.keys(AUDIT_KINDS) as readonly AuditKind[];

/** Kinds that only the platform creates. A client that could send them could forge a registration. */
const NEVER_SENT: readonly EventKind[] = ['agent.registered'];

/**
 * Accepts the platform's own kinds by name, too. Keeps any other kind as `custom.recorded`: a newer client may know
 * more kinds than this server, and its events still belong to the run.
 */
export function kindOf(kind: string): EventKind {
  if (Object.hasOwn(AUDIT_KINDS, kind)) return AUDIT_KINDS[kind as AuditKind];
  const own = EVENT_KINDS.find((name) => name === kind);
  return own === undefined || NEVER_SENT.includes(own) ? 'custom.recorded' : own;
}

/** Returns true if the server knows the kind. */
export function isKnownKind(kind: string): boolean {
  return kindOf(kind) !== 'custom.recorded' || kind === 'custom.recorded';
}
