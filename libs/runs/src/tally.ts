import type { JsonObject } from '@agentlens/contracts';
import { byCodePoint, type FoldedEvent, isAfter, type Latest, later, lesser, placeOf } from './folded-event.ts';
import { type RunRecord, withEvent } from './run.ts';
import { NO_TOTALS, type RunTotals, sumOf, totalsOf } from './run-totals.ts';

/** Only the first tools by name are kept beyond this number. */
const MAX_TOOLS = 1_000;
const MAX_SLUG_CHARS = 256;

/** Combined content of an agent's `agent.registered` events. Each part comes from the newest event that has it. */
export interface Registration {
  readonly slug?: string;
  readonly description?: Latest<string>;
  readonly tags?: Latest<readonly string[]>;
  /** By name. A tool that is registered again is replaced; a tool that is not repeated is kept. */
  readonly tools: ReadonlyMap<string, Latest<JsonObject>>;
}

const NO_REGISTRATION: Registration = { tools: new Map() };

/** Adds an event to a registration. Commutative, like `withEvent`. */
function withRegistration(known: Registration, event: FoldedEvent): Registration {
  if (event.kind !== 'agent.registered') return known;
  const place = placeOf(event);
  const { slug, description, tags, tools } = event.payload ?? {};
  const isSlug = typeof slug === 'string' && slug !== '' && Array.from(slug).length <= MAX_SLUG_CHARS;
  return {
    slug: lesser(known.slug, isSlug ? slug : undefined),
    description: later(known.description, typeof description === 'string' ? { place, value: description } : undefined),
    tags: later(known.tags, Array.isArray(tags) ? { place, value: tags.filter(isText) } : undefined),
    tools: Array.isArray(tools) ? withTools(known.tools, tools, place) : known.tools,
  };
}

function withTools(known: Registration['tools'], tools: readonly unknown[], place: string): Registration['tools'] {
  const all = new Map(known);
  for (const [index, tool] of tools.entries()) {
    const name = (tool as { name?: unknown } | null)?.name;
    if (typeof name !== 'string') continue;
    // If a name occurs twice in one event, the later one counts.
    const at = `${place}/${String(index).padStart(5, '0')}`;
    const before = all.get(name);
    if (before === undefined || isAfter(at, before.place)) all.set(name, { place: at, value: tool as JsonObject });
  }
  return new Map([...all].sort(([a], [b]) => byCodePoint(a, b)).slice(0, MAX_TOOLS));
}

function isText(value: unknown): value is string {
  return typeof value === 'string';
}

/** Contribution of some events to an agent. */
export interface AgentTally {
  readonly agentId: string;
  readonly name?: Latest<string>;
  readonly registration: Registration;
  readonly firstSeenAt: string;
  readonly lastSeenAt: string;
  /** By minute of UTC, such as `2026-03-01T12:34`. */
  readonly minutes: ReadonlyMap<string, RunTotals>;
}

/**
 * Contribution of some events of one tenant to its runs, agents and minutes. Tallies of disjoint events can be added in
 * any order. How many runs an agent or a day has is counted where all events are known.
 */
export interface Tally {
  readonly runs: ReadonlyMap<string, RunRecord>;
  readonly agents: ReadonlyMap<string, AgentTally>;
}

/** An agent while its events are being added. */
interface OpenAgent extends AgentTally {
  name?: Latest<string>;
  registration: Registration;
  firstSeenAt: string;
  lastSeenAt: string;
  readonly minutes: Map<string, RunTotals>;
}

/** A tally to which events are added; each event must be added once. */
export class GrowingTally implements Tally {
  readonly runs = new Map<string, RunRecord>();
  readonly agents = new Map<string, OpenAgent>();

  add(event: FoldedEvent): void {
    const { runs, agents } = this;
    const totals = totalsOf(event);
    // A registration does not belong to a run, although every event names one.
    if (event.kind !== 'agent.registered') runs.set(event.runId, withEvent(runs.get(event.runId), event, totals));
    const agent = agents.get(event.agentId) ?? newAgent(event);
    agents.set(event.agentId, agent);
    addEvent(agent, event, totals);
  }
}

function newAgent({ agentId, occurredAt }: FoldedEvent): OpenAgent {
  return {
    agentId,
    registration: NO_REGISTRATION,
    firstSeenAt: occurredAt,
    lastSeenAt: occurredAt,
    minutes: new Map(),
  };
}

function addEvent(agent: OpenAgent, event: FoldedEvent, totals: RunTotals): void {
  const { agentName, occurredAt } = event;
  if (agentName !== undefined) agent.name = later(agent.name, { place: placeOf(event), value: agentName });
  agent.registration = withRegistration(agent.registration, event);
  if (occurredAt < agent.firstSeenAt) agent.firstSeenAt = occurredAt;
  if (occurredAt > agent.lastSeenAt) agent.lastSeenAt = occurredAt;
  const minute = occurredAt.slice(0, 16);
  agent.minutes.set(minute, sumOf(agent.minutes.get(minute) ?? NO_TOTALS, totals));
}
