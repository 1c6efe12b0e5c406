import { clip, safeJson } from '../wire/safe-json.ts';

/** One event of a run, as it is enqueued; nothing is copied or serialised yet. */
export interface AuditEvent {
  readonly id: string;
  /** Unix ms. */
  readonly at: number;
  readonly kind: string;
  readonly run: RunRef;
  readonly stepIndex?: number;
  readonly data: Readonly<Record<string, unknown>>;
}

/** Fields shared by all events of one run; one object per run. */
export interface RunRef {
  readonly runId: string;
  readonly sessionId?: string;
  readonly actorExternalId?: string;
  readonly parentRunId?: string;
  readonly parentToolUseId?: string;
}

export const AUDIT_SCHEMA = 'handlebar.audit.v1';
const MAX_EVENT_CHARS = 200_000;
const KEPT_CHARS = 4_000;

/** Serialises an event. One that is too large for the server keeps its envelope and the beginning of each text. */
export function writeEvent(event: AuditEvent): string {
  const text = safeJson(wireForm(event, event.data));
  if (text.length <= MAX_EVENT_CHARS) return text;
  return safeJson(wireForm(event, { ...shortened(event.data), truncated: true, originalChars: text.length }));
}

function wireForm(event: AuditEvent, data: Readonly<Record<string, unknown>>): object {
  return {
    schema: AUDIT_SCHEMA,
    id: event.id,
    ts: instantOf(event.at),
    ...event.run,
    stepIndex: event.stepIndex,
    kind: event.kind,
    data,
  };
}

/** Keeps numbers, flags and short texts, because rules and totals use them. */
function shortened(data: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const kept: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(data)) {
    const text = typeof value === 'string' ? value : safeJson(value);
    if (text.length <= KEPT_CHARS) kept[key] = value;
    else kept[key] = `${clip(text, KEPT_CHARS)}…`;
  }
  return kept;
}

/** A wrong clock may return anything; a value that is not a valid date becomes the epoch instead of an exception. */
export function instantOf(ms: number): string {
  return new Date(Math.abs(ms) <= 8.64e15 ? ms : 0).toISOString();
}
