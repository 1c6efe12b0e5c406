import { type AgentEvent, type JsonObject, OTLP_DIALECT, type RunOutcome } from '@agentlens/contracts';
import { byCodePoint, type FoldedEvent } from './folded-event.ts';

/** Only the first tags in code point order are kept beyond this number. */
export const MAX_RUN_TAGS = 100;
/** Longer error messages are truncated here and complete in their event. */
const MAX_ERROR_CHARS = 2_000;
const MAX_ID_CHARS = 256;
/** About thirty years. Longer intervals are ignored as mistakes. */
const MAX_INTERVAL_MS = 1e12;

/** On whose behalf a run acts, as reported by the client. Runs are found by `externalId`. */
export type RunActor = JsonObject & { readonly externalId: string };

/** What the start of a run reports; all fields are optional. */
export interface StartFacts {
  readonly actor?: RunActor;
  readonly runTags: Readonly<Record<string, string>>;
  readonly ttlMs?: number;
  readonly heartbeatEveryMs?: number;
  readonly parentRunId?: string;
  readonly parentToolUseId?: string;
}

/** What the end of a run reports. */
export interface EndFacts {
  /** Reported by an agent inside the run, which may continue. */
  readonly byAgent: boolean;
  /** Reported by the run itself. */
  readonly byRun: boolean;
  readonly result?: unknown;
  readonly errorMessage?: string;
}

/**
 * For `run.started`: payload members `actor`, `tags`, `runTtlMs`, `heartbeatEveryMs`; parents in the event or its
 * payload.
 */
export function startFactsOf(event: FoldedEvent): StartFacts | undefined {
  if (event.kind !== 'run.started') return undefined;
  const { actor, tags, runTtlMs, heartbeatEveryMs, parentRunId, parentToolUseId } = event.payload ?? {};
  return {
    actor: isActor(actor) ? actor : undefined,
    runTags: isRecord(tags) ? textsOf(tags) : {},
    ttlMs: interval(runTtlMs),
    heartbeatEveryMs: interval(heartbeatEveryMs),
    parentRunId: event.parentRunId ?? idText(parentRunId),
    parentToolUseId: event.parentToolUseId ?? idText(parentToolUseId),
  };
}

/**
 * Runs of spans have no heartbeat, and their root arrives last. A run that is silent for three times this interval is
 * marked as lost until its next event.
 */
const SPANS_EVERY_MS = 10 * 60_000;

/** Heartbeat interval that the run promises, ms. */
export function heartbeatOf(event: FoldedEvent, start: StartFacts | undefined): number | undefined {
  return start?.heartbeatEveryMs ?? (event.dialect === OTLP_DIALECT ? SPANS_EVERY_MS : undefined);
}

/** For `run.ended`: payload members `result` (or `summary`) and `error` (a string, or an object with `message`). */
export function endFactsOf(event: FoldedEvent): EndFacts | undefined {
  if (event.kind !== 'run.ended') return undefined;
  const { result, summary, error, by } = event.payload ?? {};
  const isSpan = event.dialect === OTLP_DIALECT;
  const message = isRecord(error) ? error.message : error;
  return {
    byAgent: isSpan && (by === 'agent' || by === 'root_agent'),
    byRun: !(isSpan && by === 'agent'),
    result: result ?? summary ?? undefined,
    errorMessage: typeof message === 'string' ? firstChars(message, MAX_ERROR_CHARS) : undefined,
  };
}

/** Merges two records. If both have a tag, the larger value wins, so that order does not matter. */
export function mergedTags(a: Readonly<Record<string, string>>, b: Readonly<Record<string, string>>) {
  const merged = new Map(Object.entries(a));
  for (const [name, text] of Object.entries(b)) {
    const known = merged.get(name);
    if (known === undefined || byCodePoint(known, text) < 0) merged.set(name, text);
  }
  return Object.fromEntries([...merged].sort(([x], [y]) => byCodePoint(x, y)).slice(0, MAX_RUN_TAGS));
}

function isActor(value: unknown): value is RunActor {
  return isRecord(value) && idText(value.externalId) !== undefined;
}

function textsOf(tags: JsonObject): Record<string, string> {
  return Object.fromEntries(Object.entries(tags).filter((tag): tag is [string, string] => typeof tag[1] === 'string'));
}

function interval(value: unknown): number | undefined {
  return typeof value === 'number' && value >= 1 && value <= MAX_INTERVAL_MS ? Math.round(value) : undefined;
}

/** Counts characters instead of UTF-16 units, like the database. */
function idText(value: unknown): string | undefined {
  if (typeof value !== 'string' || value === '') return undefined;
  return value.length <= MAX_ID_CHARS || Array.from(value).length <= MAX_ID_CHARS ? value : undefined;
}

function firstChars(text: string, max: number): string {
  return text.length <= max ? text : Array.from(text).slice(0, max).join('');
}

function isRecord(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export type RunStatus = 'running' | RunOutcome | 'lost';

/** Outcome that this event reports for its run; undefined for events other than `run.ended`. */
export function outcomeOf(event: Pick<AgentEvent, 'kind' | 'outcome' | 'isError'>): RunOutcome | undefined {
  if (event.kind !== 'run.ended') return undefined;
  return event.outcome ?? (event.isError ? 'failed' : 'succeeded');
}
