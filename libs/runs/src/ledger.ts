import type { AgentEvent } from '@agentlens/contracts';
import { type Latest, placeOf } from './folded-event.ts';
import { durationMs, type RunRecord, statusOf } from './run.ts';
import { NO_TOTALS, type RunTotals, sumOf, sumOfAll } from './run-totals.ts';
import { GrowingTally, type Registration } from './tally.ts';

interface AgentSummary {
  readonly agentId: string;
  readonly name?: Latest<string>;
  readonly registration: Registration;
  readonly firstSeenAt: string;
  readonly lastSeenAt: string;
  readonly runs: number;
  readonly totals: RunTotals;
}

/** A UTC day of an agent: events of that day, and runs that started on it. */
interface AgentDay {
  readonly agentId: string;
  readonly day: string;
  readonly totals: RunTotals;
  readonly runs: number;
  readonly failedRuns: number;
  readonly completedRuns: number;
  readonly runDurationMs: number;
  readonly runPicoUsd: bigint;
}

/** Everything derived from a tenant's events. */
export interface Ledger {
  readonly runs: ReadonlyMap<string, RunRecord>;
  readonly agents: ReadonlyMap<string, AgentSummary>;
  /** Keys are `agentId`, a newline (which ids cannot contain), and the day. */
  readonly days: ReadonlyMap<string, AgentDay>;
}

/** Derives the ledger from events of one tenant, in any order. Duplicates count once. */
export function ledgerOf(events: Iterable<AgentEvent>): Ledger {
  const distinct = new Map<string, AgentEvent>();
  for (const event of events) if (!distinct.has(placeOf(event))) distinct.set(placeOf(event), event);
  const tally = new GrowingTally();
  for (const event of distinct.values()) tally.add(event);
  const { runs, agents: tallies } = tally;
  const agents = new Map<string, AgentSummary>();
  const days = new Map<string, AgentDay>();
  for (const { minutes, ...agent } of tallies.values()) {
    agents.set(agent.agentId, { ...agent, runs: 0, totals: sumOfAll(minutes.values()) });
    for (const [minute, totals] of minutes) {
      onDay(days, agent.agentId, minute.slice(0, 10), (known) => ({ ...known, totals: sumOf(known.totals, totals) }));
    }
  }
  for (const run of runs.values()) {
    const agent = agents.get(run.agentId);
    if (agent !== undefined) agents.set(run.agentId, { ...agent, runs: agent.runs + 1 });
    onDay(days, run.agentId, run.startedAt.slice(0, 10), (day) => withRun(day, run));
  }
  return { runs, agents, days };
}

/** A run that failed or has an error event. */
function isFailedRun(run: RunRecord): boolean {
  return run.totals.errors > 0 || statusOf(run) === 'failed';
}

/** A run that succeeded or was cancelled on purpose. */
function isCompletedRun(run: RunRecord): boolean {
  return statusOf(run) === 'succeeded' || statusOf(run) === 'cancelled';
}

function withRun(day: AgentDay, run: RunRecord): AgentDay {
  return {
    ...day,
    runs: day.runs + 1,
    failedRuns: day.failedRuns + Number(isFailedRun(run)),
    completedRuns: day.completedRuns + Number(isCompletedRun(run)),
    runDurationMs: day.runDurationMs + durationMs(run),
    runPicoUsd: day.runPicoUsd + run.totals.picoUsd,
  };
}

function onDay(days: Map<string, AgentDay>, agentId: string, day: string, change: (day: AgentDay) => AgentDay): void {
  const key = `${agentId}\n${day}`;
  const counts = { runs: 0, failedRuns: 0, completedRuns: 0, runDurationMs: 0, runPicoUsd: 0n };
  days.set(key, change(days.get(key) ?? { agentId, day, totals: NO_TOTALS, ...counts }));
}
