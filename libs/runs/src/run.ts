import type { AgentEvent } from '@agentlens/contracts';
import { isAfter, lesser, placeOf } from './event-place.ts';
import { microUsd } from './money.ts';
import { outcomeOf, type RunStatus } from './run-status.ts';

/** More tags than this on one run are noise; the first ones in code point order are kept. */
export const MAX_RUN_TAGS = 100;

/** A value that the latest event carrying it decides. */
interface Latest<T> {
  readonly place: string;
  readonly value: T;
}

export interface Run {
  readonly runId: string;
  /** Of the first event, for the rare run that several agents report on. */
  readonly agentId: string;
  readonly firstPlace: string;
  readonly agentName?: Latest<string>;
  readonly model?: Latest<{ readonly model: string; readonly provider: string | undefined }>;
  /** The latest `run.ended` decides, whenever it arrives. */
  readonly end?: Latest<{ readonly status: RunStatus; readonly at: string }>;
  readonly sessionId?: string;
  readonly parentRunId?: string;
  readonly parentToolUseId?: string;
  readonly startedAt: string;
  readonly lastEventAt: string;
  readonly totals: RunTotals;
  readonly tags: readonly string[];
}

export interface RunTotals {
  readonly events: number;
  readonly errors: number;
  readonly toolCalls: number;
  readonly toolErrors: number;
  readonly llmCalls: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly totalTokens: number;
  readonly microUsd: number;
  readonly unpriced: number;
}

export const NO_TOTALS: RunTotals = {
  events: 0,
  errors: 0,
  toolCalls: 0,
  toolErrors: 0,
  llmCalls: 0,
  inputTokens: 0,
  outputTokens: 0,
  totalTokens: 0,
  microUsd: 0,
  unpriced: 0,
};

/** What one event adds to the totals of its run, its agent and its day. */
export function totalsOf(event: AgentEvent): RunTotals {
  const { usage } = event;
  return {
    events: 1,
    errors: Number(event.isError),
    toolCalls: Number(event.kind === 'tool.called'),
    toolErrors: Number(event.kind === 'tool.completed' && event.isError),
    llmCalls: Number(event.kind === 'llm.called'),
    inputTokens: Math.round(usage?.inputTokens ?? 0),
    outputTokens: Math.round(usage?.outputTokens ?? 0),
    totalTokens: Math.round(usage?.totalTokens ?? 0),
    microUsd: microUsd(usage?.costUsd ?? 0),
    unpriced: Number(usage?.costSource === 'unpriced'),
  };
}

export function sumOf(a: RunTotals, b: RunTotals): RunTotals {
  const names = Object.keys(a) as (keyof RunTotals)[];
  return Object.fromEntries(names.map((name) => [name, a[name] + b[name]])) as unknown as RunTotals;
}

/** The run as it is when this event, which was not in it before, is known too. Commutative: the order says nothing. */
export function withEvent(run: Run | undefined, event: AgentEvent): Run {
  const place = placeOf(event);
  const ended = outcomeOf(event);
  const { agentName, model, provider, occurredAt } = event;
  const first = run === undefined || isAfter(run.firstPlace, place);
  return {
    runId: event.runId,
    agentId: first ? event.agentId : run.agentId,
    firstPlace: first ? place : run.firstPlace,
    agentName: later(run?.agentName, agentName === undefined ? undefined : { place, value: agentName }),
    model: later(run?.model, model === undefined ? undefined : { place, value: { model, provider } }),
    end: later(run?.end, ended === undefined ? undefined : { place, value: { status: ended, at: occurredAt } }),
    sessionId: lesser(run?.sessionId, event.sessionId),
    parentRunId: lesser(run?.parentRunId, event.parentRunId),
    parentToolUseId: lesser(run?.parentToolUseId, event.parentToolUseId),
    startedAt: run === undefined || occurredAt < run.startedAt ? occurredAt : run.startedAt,
    lastEventAt: run === undefined || occurredAt > run.lastEventAt ? occurredAt : run.lastEventAt,
    totals: sumOf(run?.totals ?? NO_TOTALS, totalsOf(event)),
    tags: union(run?.tags ?? [], event.tags ?? []),
  };
}

export function statusOf(run: Run): RunStatus {
  return run.end?.value.status ?? 'running';
}

/** Until its end, or until it was last heard of. */
export function durationMs(run: Run): number {
  return Date.parse(run.end?.value.at ?? run.lastEventAt) - Date.parse(run.startedAt);
}

function later<T>(known: Latest<T> | undefined, fresh: Latest<T> | undefined): Latest<T> | undefined {
  if (known === undefined || fresh === undefined) return known ?? fresh;
  return isAfter(fresh.place, known.place) ? fresh : known;
}

function union(a: readonly string[], b: readonly string[]): readonly string[] {
  if (b.length === 0) return a;
  const sorted = [...new Set([...a, ...b])].sort((x, y) => Buffer.compare(Buffer.from(x), Buffer.from(y)));
  return sorted.slice(0, MAX_RUN_TAGS);
}
