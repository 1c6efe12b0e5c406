import { sha256Hex } from '#sha256';
import { canonicalJson } from '../../canonical-form.ts';
import type { JsonObject } from '../../events.ts';
import type { PriceBook } from '../../prices.ts';
import { detailsOf, type ProblemDetail } from '../../problems.ts';
import type { TranslatedEvent, Translation } from '../agentlens/translate.ts';
import { HANDLEBAR_DIALECT } from '../dialect-names.ts';
import { runMomentId, stableId } from '../stable-ids.ts';
import { AUDIT_SCHEMA, AuditEnvelope, isKnownKind, kindOf } from './audit-envelope.ts';
import { liftedFrom } from './lifted.ts';

/** Fields that identify an audit event. The Handlebar SDK sends no ids, but repeats the same bytes on a retry. */
interface AuditIdentity {
  readonly agentId: string;
  readonly runId: string;
  readonly kind: string;
  readonly stepIndex: number | undefined;
  readonly atMs: number | undefined;
  readonly messageId: string | undefined;
  readonly data: JsonObject;
}

/**
 * Derives the id of an audit event from its message id if it is a message, else from its whole content. Equal for every
 * retry in any batch and order; two identical events are one event.
 */
function auditEventId({ agentId, runId, kind, stepIndex, atMs, messageId, data }: AuditIdentity): string {
  const what =
    messageId === undefined
      ? [kind, stepIndex ?? '', atMs ?? '', sha256Hex(canonicalJson(data))]
      : [kind, 'message', messageId];
  return stableId(atMs, agentId, runId, ...what);
}

/**
 * Translates one audit event into an AgentEvent. `raw` is sanitized JSON; paths of the details start at the event.
 * Keeps unknown values and adds notices; rejects only events without a run, a kind or a readable time.
 */
export function translateHandlebarEvent(raw: unknown, agentId: string, prices: PriceBook, nowMs: number): Translation {
  if (typeof raw !== 'object' || raw === null || Array.isArray(raw)) {
    return { ok: false, details: [{ path: '', message: 'must be an object' }] };
  }
  const envelope = AuditEnvelope.safeParse(raw);
  if (!envelope.success) return { ok: false, details: detailsOf(envelope.error) };
  return { ok: true, event: translated(envelope.data, agentId, prices, nowMs), notices: noticesOf(envelope.data) };
}

function translated(envelope: AuditEnvelope, agentId: string, prices: PriceBook, nowMs: number): TranslatedEvent {
  const { runId } = envelope;
  const kind = kindOf(envelope.kind);
  const data = envelope.data ?? {};
  const atMs = envelope.ts ?? undefined;
  const facts: TranslatedEvent['facts'] = {
    agentId,
    runId,
    sessionId: envelope.sessionId ?? undefined,
    parentRunId: envelope.parentRunId ?? undefined,
    parentToolUseId: envelope.parentToolUseId ?? undefined,
    kind,
    dialect: HANDLEBAR_DIALECT,
    sourceType: envelope.kind,
    ...liftedFrom(kind, data, atMs ?? nowMs, prices),
    tags: envelope.tags == null || envelope.tags.length === 0 ? undefined : [...new Set(envelope.tags)],
    payload: data,
    metadata: metadataOf(envelope),
  };
  if (kind === 'run.started' || kind === 'run.ended') {
    const momentId = runMomentId(agentId, runId, kind);
    return { clientId: momentId, momentId, timestamp: isoOf(atMs), retold: true, facts };
  }
  return { clientId: envelope.id ?? idOf(envelope, agentId, data, atMs), timestamp: isoOf(atMs), facts };
}

function idOf(envelope: AuditEnvelope, agentId: string, data: JsonObject, atMs: number | undefined): string {
  const { runId, kind } = envelope;
  const isMessage = kind === 'message.raw.created' && typeof data.messageId === 'string' && data.messageId !== '';
  const messageId = isMessage ? (data.messageId as string) : undefined;
  return auditEventId({ agentId, runId, kind, stepIndex: envelope.stepIndex ?? undefined, atMs, messageId, data });
}

function isoOf(atMs: number | undefined): string | undefined {
  return atMs === undefined ? undefined : new Date(atMs).toISOString();
}

/** Fields of the envelope beyond the event itself. */
function metadataOf(envelope: AuditEnvelope): JsonObject {
  const { stepIndex, actorExternalId, otel, sample, redaction, schema, metadata } = envelope;
  const members = { stepIndex, actorExternalId, otel, sample, redaction };
  const present = Object.entries(members).filter(([, value]) => value != null);
  const foreign = schema == null || schema === AUDIT_SCHEMA ? {} : { schema };
  return { ...metadata, ...Object.fromEntries(present), ...foreign };
}

function noticesOf({ schema, kind }: AuditEnvelope): readonly ProblemDetail[] {
  const notices: ProblemDetail[] = [];
  if (schema != null && schema !== AUDIT_SCHEMA) {
    notices.push({ path: 'schema', message: `is not ${AUDIT_SCHEMA}; the event was read as if it were` });
  }
  if (!isKnownKind(kind)) {
    notices.push({ path: 'kind', message: 'is not known here; the event is kept as custom.recorded' });
  }
  return notices;
}
