import type { AgentEvent } from '@agentlens/contracts';
import { type Latest, later, placeOf } from './event-place.ts';
import { NO_REGISTRATION, type Registration, withRegistration } from './registration.ts';
import { durationMs, NO_TOTALS, type Run, type RunTotals, statusOf, sumOf, totalsOf, withEvent } from './run.ts';

export interface Agent {
  readonly agentId: string;
  readonly name?: Latest<string>;
  readonly registration: Registration;
  readonly firstSeenAt: string;
  readonly lastSeenAt: string;
  readonly runs: number;
  readonly totals: RunTotals;
}

/** One agent's UTC day: its events of that day, and its runs that started that day. */
export interface AgentDay {
  readonly agentId: string;
  readonly day: string;
  readonly totals: RunTotals;
  readonly runs: number;
  readonly failedRuns: number;
  readonly completedRuns: number;
  readonly runDurationMs: number;
  readonly runMicroUsd: number;
}

/** What a tenant's events amount to. */
export interface Ledger {
  readonly runs: ReadonlyMap<string, Run>;
  readonly agents: ReadonlyMap<string, Agent>;
  /** By `agentId`, a newline (which no id contains), and the day. */
  readonly days: ReadonlyMap<string, AgentDay>;
}

/** Everything that follows from these events of one tenant, in any order, each counted once however often it is there. */
export function ledgerOf(events: Iterable<AgentEvent>): Ledger {
  const distinct = new Map<string, AgentEvent>();
  for (const event of events) if (!distinct.has(placeOf(event))) distinct.set(placeOf(event), event);
  const runs = new Map<string, Run>();
  const agents = new Map<string, Agent>();
  const days = new Map<string, AgentDay>();
  for (const event of distinct.values()) {
    // A registration is no part of any run, although it names one as every event does.
    if (event.kind !== 'agent.registered') runs.set(event.runId, withEvent(runs.get(event.runId), event));
    agents.set(event.agentId, heardOf(agents.get(event.agentId), event));
    onDay(days, event.agentId, event.occurredAt, (day) => ({ ...day, totals: sumOf(day.totals, totalsOf(event)) }));
  }
  for (const run of runs.values()) {
    const agent = agents.get(run.agentId);
    if (agent !== undefined) agents.set(run.agentId, { ...agent, runs: agent.runs + 1 });
    onDay(days, run.agentId, run.startedAt, (day) => withRun(day, run));
  }
  return { runs, agents, days };
}

/** A run in which something went wrong: it failed, or an event of it was an error. */
export function isFailedRun(run: Run): boolean {
  return run.totals.errors > 0 || statusOf(run) === 'failed';
}

/** A run that came to its end, or that somebody ended on purpose. */
export function isCompletedRun(run: Run): boolean {
  return statusOf(run) === 'succeeded' || statusOf(run) === 'cancelled';
}

function heardOf(agent: Agent | undefined, event: AgentEvent): Agent {
  const { agentId, agentName, occurredAt } = event;
  const name = agentName === undefined ? undefined : { place: placeOf(event), value: agentName };
  return {
    agentId,
    name: later(agent?.name, name),
    registration: withRegistration(agent?.registration ?? NO_REGISTRATION, event),
    firstSeenAt: agent === undefined || occurredAt < agent.firstSeenAt ? occurredAt : agent.firstSeenAt,
    lastSeenAt: agent === undefined || occurredAt > agent.lastSeenAt ? occurredAt : agent.lastSeenAt,
    runs: 0,
    totals: sumOf(agent?.totals ?? NO_TOTALS, totalsOf(event)),
  };
}

function withRun(day: AgentDay, run: Run): AgentDay {
  return {
    ...day,
    runs: day.runs + 1,
    failedRuns: day.failedRuns + Number(isFailedRun(run)),
    completedRuns: day.completedRuns + Number(isCompletedRun(run)),
    runDurationMs: day.runDurationMs + durationMs(run),
    runMicroUsd: day.runMicroUsd + run.totals.microUsd,
  };
}

function onDay(days: Map<string, AgentDay>, agentId: string, at: string, change: (day: AgentDay) => AgentDay): void {
  const day = at.slice(0, 10);
  const key = `${agentId}\n${day}`;
  const counts = { runs: 0, failedRuns: 0, completedRuns: 0, runDurationMs: 0, runMicroUsd: 0 };
  days.set(key, change(days.get(key) ?? { agentId, day, totals: NO_TOTALS, ...counts }));
}
