import type { JsonObject } from '@agentlens/contracts';
import { byCodePoint, isAfter, type Latest, later, lesser, placeOf } from './event-place.ts';
import type { FoldedEvent } from './folded-event.ts';

/** Tools of one agent beyond this many, by name, are not kept. */
const MAX_TOOLS = 1_000;
const MAX_SLUG_CHARS = 256;

/** What an agent's `agent.registered` events amount to. Each part is as the newest event that names it said. */
export interface Registration {
  readonly slug?: string;
  readonly description?: Latest<string>;
  readonly tags?: Latest<readonly string[]>;
  /** By name: a tool registered again is replaced, one that is not named again stays. */
  readonly tools: ReadonlyMap<string, Latest<JsonObject>>;
}

export const NO_REGISTRATION: Registration = { tools: new Map() };

/** The registration as it is when this event is known too. Commutative, like `withEvent`. */
export function withRegistration(known: Registration, event: FoldedEvent): Registration {
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
    // A name twice in one event: the latter counts.
    const at = `${place}/${String(index).padStart(5, '0')}`;
    const before = all.get(name);
    if (before === undefined || isAfter(at, before.place)) all.set(name, { place: at, value: tool as JsonObject });
  }
  return new Map([...all].sort(([a], [b]) => byCodePoint(a, b)).slice(0, MAX_TOOLS));
}

function isText(value: unknown): value is string {
  return typeof value === 'string';
}
