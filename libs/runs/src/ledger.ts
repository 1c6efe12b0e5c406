import type { AgentEvent } from '@agentlens/contracts';
import { type Latest, placeOf } from './folded-event.ts';
import { durationMs, type RunRecord, statusOf } from './run.ts';
import { NO_TOTALS, type RunTotals, sumOfAll } from './run-totals.ts';
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

/** One agent's UTC day: its events of that day, and its runs that started that day. */
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

/** What a tenant's events amount to. */
export interface Ledger {
  readonly runs: ReadonlyMap<string, RunRecord>;
  readonly agents: ReadonlyMap<string, AgentSummary>;
  /** By `agentId`, a newline (which no id contains), and the day. */
  readonly days: ReadonlyMap<string, AgentDay>;
}

/** Everything that follows from these events of one tenant, in any order, each counted once however often it is there. */
export function ledgerOf(events: Iterable<AgentEvent>): Ledger {
  const distinct = new Map<string, AgentEvent>();
  for (const event of events) if (!distinct.has(placeOf(event))) distinct.set(placeOf(event), event);
  const tally = new GrowingTally();
  for (const event of distinct.values()) tally.add(event);
  const { runs, agents: heardOf } = tally;
  const agents = new Map<string, AgentSummary>();
  const days = new Map<string, AgentDay>();
  for (const { days: ownDays, ...agent } of heardOf.values()) {
    agents.set(agent.agentId, { ...agent, runs: 0, totals: sumOfAll(ownDays.values()) });
    for (const [day, totals] of ownDays) onDay(days, agent.agentId, day, (known) => ({ ...known, totals }));
  }
  for (const run of runs.values()) {
    const agent = agents.get(run.agentId);
    if (agent !== undefined) agents.set(run.agentId, { ...agent, runs: agent.runs + 1 });
    onDay(days, run.agentId, run.startedAt.slice(0, 10), (day) => withRun(day, run));
  }
  return { runs, agents, days };
}

/** A run in which something went wrong: it failed, or an event of it was an error. */
function isFailedRun(run: RunRecord): boolean {
  return run.totals.errors > 0 || statusOf(run) === 'failed';
}

/** A run that came to its end, or that somebody ended on purpose. */
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
