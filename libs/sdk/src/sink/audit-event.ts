import { clip, safeJson } from '../wire/safe-json.ts';

/** One fact about a run, as it is enqueued: nothing is copied or written yet. */
export interface AuditEvent {
  readonly id: string;
  /** Unix ms. */
  readonly at: number;
  readonly kind: string;
  readonly run: RunRef;
  readonly stepIndex?: number;
  readonly data: Readonly<Record<string, unknown>>;
}

/** What every event of one run says; one object per run. */
export interface RunRef {
  readonly runId: string;
  readonly sessionId?: string;
  readonly actorExternalId?: string;
  readonly parentRunId?: string;
  readonly parentToolUseId?: string;
}

export const AUDIT_SCHEMA = 'handlebar.audit.v1';
const MOST_EVENT_CHARS = 200_000;
const KEPT_CHARS = 4_000;

/** The event's JSON. One that is too large for the server keeps its envelope and the beginning of each text. */
export function writeEvent(event: AuditEvent): string {
  const text = safeJson(wireForm(event, event.data));
  if (text.length <= MOST_EVENT_CHARS) return text;
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

/** Numbers, flags and short texts stay: they are what rules and totals are made of. */
function shortened(data: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const kept: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(data)) {
    const text = typeof value === 'string' ? value : safeJson(value);
    if (text.length <= KEPT_CHARS) kept[key] = value;
    else kept[key] = `${clip(text, KEPT_CHARS)}…`;
  }
  return kept;
}

/** A clock that is wrong may say anything; what no date can hold becomes the beginning of time, not an exception. */
export function instantOf(ms: number): string {
  return new Date(Math.abs(ms) <= 8.64e15 ? ms : 0).toISOString();
}
