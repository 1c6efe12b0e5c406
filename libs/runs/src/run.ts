import {
  byCodePoint,
  earlier,
  type FoldedEvent,
  isAfter,
  type Latest,
  later,
  lesser,
  placeOf,
} from './folded-event.ts';
import {
  type EndFacts,
  endFactsOf,
  heartbeatOf,
  MAX_RUN_TAGS,
  mergedTags,
  outcomeOf,
  type RunActor,
  type RunStatus,
  type StartFacts,
  startFactsOf,
} from './run-facts.ts';
import { NO_TOTALS, type RunTotals, sumOf } from './run-totals.ts';

/** The run that started this one, and the tool call that did. */
interface RunParent {
  readonly runId: string;
  readonly toolUseId?: string;
}

export interface RunRecord {
  readonly runId: string;
  /** Agent of the first event, for the rare run with several agents. */
  readonly agentId: string;
  readonly firstPlace: string;
  readonly agentName?: Latest<string>;
  readonly model?: Latest<{ readonly model: string; readonly provider: string | undefined }>;
  /** Latest `run.ended` of the run itself, in any order of arrival. */
  readonly end?: Latest<{ readonly status: RunStatus; readonly at: string }>;
  /** Latest end of an agent inside the run; shown if the run has ended or is silent. */
  readonly agentEnd?: Latest<RunStatus>;
  readonly sessionId?: string;
  /** From the first event that names a parent, like the run's context. */
  readonly parent?: Latest<RunParent>;
  readonly startedAt: string;
  readonly lastEventAt: string;
  readonly totals: RunTotals;
  readonly tags: readonly string[];
  /** From the first start that names an actor. */
  readonly actor?: Latest<RunActor>;
  /** Tags of the run as a whole, by name; `tags` come from its events. */
  readonly runTags: Readonly<Record<string, string>>;
  /** Longest reported value. */
  readonly ttlMs?: number;
  /** Longest reported value. */
  readonly heartbeatEveryMs?: number;
  /** From the latest end that has a result. */
  readonly result?: Latest<NonNullable<EndFacts['result']>>;
  readonly errorMessage?: Latest<string>;
}

/**
 * Adds an event with these totals to a run that does not contain it yet. Commutative, so the order of events does not
 * matter.
 */
export function withEvent(run: RunRecord | undefined, event: FoldedEvent, totals: RunTotals): RunRecord {
  const place = placeOf(event);
  const ended = outcomeOf(event);
  const { agentName, model, provider, occurredAt } = event;
  const start = startFactsOf(event);
  const end = endFactsOf(event);
  const first = run === undefined || isAfter(run.firstPlace, place);
  return {
    runId: event.runId,
    agentId: first ? event.agentId : run.agentId,
    firstPlace: first ? place : run.firstPlace,
    agentName: later(run?.agentName, placed(place, agentName)),
    model: later(run?.model, model === undefined ? undefined : { place, value: { model, provider } }),
    end: later(
      run?.end,
      ended === undefined || end?.byRun !== true ? undefined : { place, value: { status: ended, at: occurredAt } },
    ),
    agentEnd: later(run?.agentEnd, end?.byAgent === true ? placed(place, ended) : undefined),
    sessionId: lesser(run?.sessionId, event.sessionId),
    parent: earlier(run?.parent, placed(place, parentOf(event, start))),
    startedAt: run === undefined || occurredAt < run.startedAt ? occurredAt : run.startedAt,
    lastEventAt: run === undefined || occurredAt > run.lastEventAt ? occurredAt : run.lastEventAt,
    totals: sumOf(run?.totals ?? NO_TOTALS, totals),
    tags: union(run?.tags ?? [], event.tags ?? []),
    actor: earlier(run?.actor, placed(place, start?.actor ?? actorOf(event))),
    runTags: start === undefined ? (run?.runTags ?? {}) : mergedTags(run?.runTags ?? {}, start.runTags),
    ttlMs: greater(run?.ttlMs, start?.ttlMs),
    heartbeatEveryMs: greater(run?.heartbeatEveryMs, heartbeatOf(event, start)),
    result: later(run?.result, placed(place, end?.result)),
    errorMessage: later(run?.errorMessage, placed(place, end?.errorMessage)),
  };
}

/**
 * A run has ended when it reports its end. If it reports success, the last agent inside it decides, because some
 * frameworks report success although an agent failed.
 */
export function statusOf({ end, agentEnd }: RunRecord): RunStatus {
  if (end === undefined) return 'running';
  return end.value.status === 'failed' ? 'failed' : (agentEnd?.value ?? end.value.status);
}

/** Duration until the end or the last event. */
export function durationMs(run: RunRecord): number {
  return Date.parse(run.end?.value.at ?? run.lastEventAt) - Date.parse(run.startedAt);
}

function parentOf(event: FoldedEvent, start: StartFacts | undefined): RunParent | undefined {
  const runId = start?.parentRunId ?? event.parentRunId;
  return runId === undefined ? undefined : { runId, toolUseId: start?.parentToolUseId ?? event.parentToolUseId };
}

function actorOf({ actorId }: FoldedEvent): RunActor | undefined {
  return actorId === undefined ? undefined : { externalId: actorId };
}

function placed<T>(place: string, value: T | undefined): Latest<NonNullable<T>> | undefined {
  return value === undefined || value === null ? undefined : { place, value };
}

function greater(a: number | undefined, b: number | undefined): number | undefined {
  return a === undefined || b === undefined ? (a ?? b) : Math.max(a, b);
}

function union(a: readonly string[], b: readonly string[]): readonly string[] {
  if (b.length === 0) return a;
  return [...new Set([...a, ...b])].sort(byCodePoint).slice(0, MAX_RUN_TAGS);
}
