import type { AgentEvent, EventFacts, EventKind } from '@agentlens/contracts';

/** Kinds whose payload is folded. Of all others the type below has none, so that no fold can look into it. */
const READ = ['run.started', 'run.ended', 'agent.registered'] as const satisfies readonly EventKind[];
type ReadKind = (typeof READ)[number];

/** What is folded of an event: its facts, and its payload where `readsPayload` of its kind. */
export type FoldedEvent = EventFacts &
  (
    | { readonly kind: ReadKind; readonly payload?: AgentEvent['payload'] }
    | { readonly kind: Exclude<EventKind, ReadKind> }
  );

const KINDS: ReadonlySet<EventKind> = new Set(READ);

/** Whether a fold looks into the payload of such an event. */
export function readsPayload(kind: EventKind): boolean {
  return KINDS.has(kind);
}

/** A value that the latest event carrying it decides. */
export interface Latest<T> {
  readonly place: string;
  readonly value: T;
}

/**
 * Where an event stands among all events of its run: by time, then by id, so that two events never stand at the same
 * place and every replica agrees which of them is the later one.
 */
export function placeOf(event: Pick<AgentEvent, 'occurredAt' | 'id'>): string {
  return `${event.occurredAt.slice(0, -1)}/${event.id}`;
}

/** UTF-16 units order text as code points do, but for these. */
const ORDERED_OTHERWISE = /[\ud800-\uffff]/;

/** As Postgres compares under the collation "C". */
export function byCodePoint(a: string, b: string): number {
  if (ORDERED_OTHERWISE.test(a) || ORDERED_OTHERWISE.test(b)) return Buffer.compare(Buffer.from(a), Buffer.from(b));
  return a < b ? -1 : Number(a > b);
}

export function isAfter(a: string, b: string): boolean {
  return byCodePoint(a, b) > 0;
}

export function lesser(a: string | undefined, b: string | undefined): string | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  return isAfter(a, b) ? b : a;
}

export function later<T>(known: Latest<T> | undefined, fresh: Latest<T> | undefined): Latest<T> | undefined {
  if (known === undefined || fresh === undefined) return known ?? fresh;
  return isAfter(fresh.place, known.place) ? fresh : known;
}

export function earlier<T>(known: Latest<T> | undefined, fresh: Latest<T> | undefined): Latest<T> | undefined {
  if (known === undefined || fresh === undefined) return known ?? fresh;
  return isAfter(fresh.place, known.place) ? known : fresh;
}
