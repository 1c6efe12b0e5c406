import type { AgentEvent, JsonObject, RunOutcome } from '../../events.ts';
import type { PriceBook } from '../../prices.ts';
import { detailsOf, type ProblemDetail } from '../../problems.ts';
import { AGENTLENS_DIALECT } from '../dialect-names.ts';
import { repairId } from '../handlebar/tolerant.ts';
import { runMomentId } from '../stable-ids.ts';
import { type Envelope, parseEnvelope, plainEnvelope } from './envelope.ts';
import { EVENT_TYPES, type EventTypeName, isEventType, refusedTypeMessage } from './event-types.ts';
import { fillGaps } from './gap-filling.ts';
import type { SESSION_END_REASONS } from './payloads.ts';
import { usageOf } from './quantities.ts';

/** An event in the platform's vocabulary, before it gets its identity (id, time, hash). */
export interface TranslatedEvent {
  /** The id created by the client; a retry sends the same one. */
  readonly clientId: string | undefined;
  /** The client's time, UTC with milliseconds. */
  readonly timestamp: string | undefined;
  /**
   * True if several messages report the same event, such as a call and an audit event that both report a run's start.
   * The first to arrive sets the time and is kept; the hash covers only its identity.
   */
  readonly retold?: boolean;
  /**
   * For the start or end of a run: the id that all reports of it share. Equals `clientId` if the event is a protocol
   * call or its audit event.
   */
  readonly momentId?: string;
  readonly facts: Omit<AgentEvent, 'id' | 'occurredAt' | 'retryable' | 'hash'>;
}

export type Translation =
  | { readonly ok: true; readonly event: TranslatedEvent; readonly notices?: readonly ProblemDetail[] }
  | { readonly ok: false; readonly details: readonly ProblemDetail[] };

const UNKNOWN_PROVIDER = 'unknown';

/**
 * Translates one event of the AgentLens protocol into an AgentEvent. `raw` is sanitized JSON; paths of the details
 * start at the event. The session is the run.
 */
export function translateAgentLensEvent(raw: unknown, prices: PriceBook, nowMs: number): Translation {
  if (typeof raw !== 'object' || raw === null || Array.isArray(raw)) return refused('', 'must be an object');
  return plainTranslation(raw as JsonObject, prices, nowMs) ?? validatedTranslation(raw as JsonObject, prices, nowMs);
}

/** Fast path for an event that conforms to the vocabulary. Returns undefined if anything needs repair or rejection. */
function plainTranslation(raw: JsonObject, prices: PriceBook, nowMs: number): Translation | undefined {
  const type = raw.eventType;
  if (!isEventType(type)) return undefined;
  const envelope = plainEnvelope(raw);
  if (envelope === undefined) return undefined;
  const payload = fillGaps(type, envelope.payload);
  if (!EVENT_TYPES[type].payload.fits(payload)) return undefined;
  return { ok: true, event: translated(type, envelope, payload, prices, nowMs) };
}

/** Slow path that reports what is invalid and where. */
function validatedTranslation(raw: JsonObject, prices: PriceBook, nowMs: number): Translation {
  const type = raw.eventType;
  const envelope = parseEnvelope(raw);
  if (!isEventType(type)) {
    const details = envelope.success ? [] : detailsOf(envelope.error);
    return { ok: false, details: [{ path: 'eventType', message: refusedTypeMessage(type) }, ...details] };
  }
  if (!envelope.success) return { ok: false, details: detailsOf(envelope.error) };
  const payload = EVENT_TYPES[type].payload.schema.safeParse(fillGaps(type, envelope.data.payload));
  if (!payload.success) return { ok: false, details: detailsOf(payload.error, ['payload']) };
  return { ok: true, event: translated(type, envelope.data, payload.data, prices, nowMs) };
}

function refused(path: string, message: string): Translation {
  return { ok: false, details: [{ path, message }] };
}

function translated(
  type: EventTypeName,
  envelope: Envelope,
  payload: JsonObject,
  prices: PriceBook,
  nowMs: number,
): TranslatedEvent {
  const { severity, metadata } = envelope;
  const model = text(payload.model);
  const provider = model === undefined ? undefined : providerOf(payload, model, prices);
  const atMs = envelope.timestamp == null ? nowMs : Date.parse(envelope.timestamp);
  const facts: TranslatedEvent['facts'] = {
    agentId: envelope.agentId,
    runId: envelope.sessionId,
    kind: EVENT_TYPES[type].kind,
    dialect: AGENTLENS_DIALECT,
    sourceType: type,
    severity,
    isError: severity === 'error' || severity === 'critical' || isFailedTool(type, payload),
    agentName: type === 'session_started' ? text(payload.agentName) : undefined,
    agentVersion: type === 'session_started' ? text(payload.agentVersion) : undefined,
    toolName: text(payload.toolName),
    callId: callIdIn(payload),
    model,
    provider,
    outcome: type === 'session_ended' ? OUTCOMES[payload.reason as SessionEndReason] : undefined,
    usage: usageOf(
      { type, payload, sent: envelope.payload, metadata, model, provider: text(payload.provider), atMs },
      prices,
    ),
    tags: tagsOf(type, envelope.tags ?? [], payload),
    payload,
    metadata,
  };
  return {
    clientId: envelope.id ?? undefined,
    timestamp: envelope.timestamp ?? undefined,
    momentId: momentIdOf(facts),
    facts,
  };
}

function momentIdOf({ agentId, runId, kind }: TranslatedEvent['facts']): string | undefined {
  return kind === 'run.started' || kind === 'run.ended' ? runMomentId(agentId, runId, kind) : undefined;
}

/** The payload keeps the id as it was sent. */
function callIdIn({ callId }: JsonObject): string | undefined {
  return typeof callId === 'string' && callId !== '' ? repairId(callId) : undefined;
}

type SessionEndReason = (typeof SESSION_END_REASONS)[number];

const OUTCOMES: Readonly<Record<SessionEndReason, RunOutcome>> = {
  completed: 'succeeded',
  error: 'failed',
  timeout: 'timed_out',
  manual: 'cancelled',
};

function isFailedTool(type: EventTypeName, payload: JsonObject): boolean {
  return type === 'tool_error' || (type === 'tool_response' && payload.isError === true);
}

/** Kept outside the payload: the price table changes, but a retry must have the same hash. */
function providerOf(payload: JsonObject, model: string, prices: PriceBook): string {
  return text(payload.provider) ?? prices.providerOf(model) ?? UNKNOWN_PROVIDER;
}

function tagsOf(type: EventTypeName, onEvent: readonly string[], payload: JsonObject): string[] | undefined {
  const inPayload = type === 'session_started' ? (payload.tags as readonly string[] | null | undefined) : null;
  if (onEvent.length === 0 && inPayload == null) return undefined;
  const all = [...new Set([...onEvent, ...(inPayload ?? [])])];
  return all.length === 0 ? undefined : all;
}

/** Extracts short text from open payloads; anything else stays only in the payload. */
function text(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' && value.length <= 1000 ? value : undefined;
}
