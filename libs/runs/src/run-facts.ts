import { type AgentEvent, type JsonObject, OTLP_DIALECT, type RunOutcome } from '@agentlens/contracts';
import { byCodePoint, type FoldedEvent } from './folded-event.ts';

/** More tags than this on one run are noise; the first ones in code point order are kept. */
export const MAX_RUN_TAGS = 100;
/** An error message longer than this is cut; the whole of it stays in its event. */
const MAX_ERROR_CHARS = 2_000;
const MAX_ID_CHARS = 256;
/** About thirty years; what is longer is a mistake and not taken. */
const MAX_INTERVAL_MS = 1e12;

/** On whose behalf a run acts, as the client said it; `externalId` is what runs are found by. */
export type RunActor = JsonObject & { readonly externalId: string };

/** What a run's start says of it, each where it was said. */
export interface StartFacts {
  readonly actor?: RunActor;
  readonly runTags: Readonly<Record<string, string>>;
  readonly ttlMs?: number;
  readonly heartbeatEveryMs?: number;
  readonly parentRunId?: string;
  readonly parentToolUseId?: string;
}

/** What a run's end says of it. */
export interface EndFacts {
  /** An agent inside the run says it: the run may go on. */
  readonly byAgent: boolean;
  /** The run itself says it. */
  readonly byRun: boolean;
  readonly result?: unknown;
  readonly errorMessage?: string;
}

/** Of a `run.started`: payload members `actor`, `tags`, `runTtlMs`, `heartbeatEveryMs`; parents beside it or in it. */
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
 * Runs of spans promise no heartbeat and have their root at the end: one that is silent for three times as long as this is
 * given up, and is back with its next event.
 */
const SPANS_EVERY_MS = 10 * 60_000;

/** How often the run promises to be heard of, ms. */
export function heartbeatOf(event: FoldedEvent, start: StartFacts | undefined): number | undefined {
  return start?.heartbeatEveryMs ?? (event.dialect === OTLP_DIALECT ? SPANS_EVERY_MS : undefined);
}

/** Of a `run.ended`: payload members `result` (or `summary`) and `error` (a text, or an object with a `message`). */
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

/** Both records in one; where both name a tag the greater text stays, so that the order says nothing. */
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

/** Characters, not UTF-16 units: that is how the database counts. */
function idText(value: unknown): string | undefined {
  if (typeof value !== 'string' || value === '') return undefined;
  return value.length <= MAX_ID_CHARS || Array.from(value).length <= MAX_ID_CHARS ? value : undefined;
}

function firstChars(text: string, most: number): string {
  return text.length <= most ? text : Array.from(text).slice(0, most).join('');
}

function isRecord(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export type RunStatus = 'running' | RunOutcome | 'lost';

/** How this event says the run ended; undefined for every other event. */
export function outcomeOf(event: Pick<AgentEvent, 'kind' | 'outcome' | 'isError'>): RunOutcome | undefined {
  if (event.kind !== 'run.ended') return undefined;
  return event.outcome ?? (event.isError ? 'failed' : 'succeeded');
}
