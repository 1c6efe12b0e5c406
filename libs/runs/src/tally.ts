import { type Latest, later, placeOf } from './event-place.ts';
import type { FoldedEvent } from './folded-event.ts';
import { NO_REGISTRATION, type Registration, withRegistration } from './registration.ts';
import { type RunRecord, withEvent } from './run.ts';
import { NO_TOTALS, type RunTotals, sumOf, totalsOf } from './run-totals.ts';

/** What events of one agent amount to, whatever else is known of it. */
export interface AgentTally {
  readonly agentId: string;
  readonly name?: Latest<string>;
  readonly registration: Registration;
  readonly firstSeenAt: string;
  readonly lastSeenAt: string;
  /** By UTC day. */
  readonly days: ReadonlyMap<string, RunTotals>;
}

/**
 * What some events of one tenant add to its runs, agents and days. Tallies of different events add up to the tally of all
 * of them, in any order; the runs of agents and days are counted where all events are known.
 */
export interface Tally {
  readonly runs: ReadonlyMap<string, RunRecord>;
  readonly agents: ReadonlyMap<string, AgentTally>;
}

/** An agent while its events are read. */
interface OpenAgent extends AgentTally {
  name?: Latest<string>;
  registration: Registration;
  firstSeenAt: string;
  lastSeenAt: string;
  readonly days: Map<string, RunTotals>;
}

/** A tally that grows by events that are different ones. */
export class GrowingTally implements Tally {
  readonly runs = new Map<string, RunRecord>();
  readonly agents = new Map<string, OpenAgent>();

  add(event: FoldedEvent): void {
    const { runs, agents } = this;
    const totals = totalsOf(event);
    // A registration is no part of any run, although it names one as every event does.
    if (event.kind !== 'agent.registered') runs.set(event.runId, withEvent(runs.get(event.runId), event, totals));
    const agent = agents.get(event.agentId) ?? opened(event);
    agents.set(event.agentId, agent);
    hear(agent, event, totals);
  }
}

function opened({ agentId, occurredAt }: FoldedEvent): OpenAgent {
  return {
    agentId,
    registration: NO_REGISTRATION,
    firstSeenAt: occurredAt,
    lastSeenAt: occurredAt,
    days: new Map(),
  };
}

function hear(agent: OpenAgent, event: FoldedEvent, totals: RunTotals): void {
  const { agentName, occurredAt } = event;
  if (agentName !== undefined) agent.name = later(agent.name, { place: placeOf(event), value: agentName });
  agent.registration = withRegistration(agent.registration, event);
  if (occurredAt < agent.firstSeenAt) agent.firstSeenAt = occurredAt;
  if (occurredAt > agent.lastSeenAt) agent.lastSeenAt = occurredAt;
  const day = occurredAt.slice(0, 10);
  agent.days.set(day, sumOf(agent.days.get(day) ?? NO_TOTALS, totals));
}
