import type { AgentEvent, EventFacts, EventKind } from '@agentlens/contracts';

/** Kinds whose payload is read. For all others the type below has no payload. */
const READ = ['run.started', 'run.ended', 'agent.registered'] as const satisfies readonly EventKind[];
type ReadKind = (typeof READ)[number];

/** The part of an event that is folded: its facts, and the payload if `readsPayload` is true for its kind. */
export type FoldedEvent = EventFacts &
  (
    | { readonly kind: ReadKind; readonly payload?: AgentEvent['payload'] }
    | { readonly kind: Exclude<EventKind, ReadKind> }
  );

const KINDS: ReadonlySet<EventKind> = new Set(READ);

/** Whether the payload of such an event is read. */
export function readsPayload(kind: EventKind): boolean {
  return KINDS.has(kind);
}

/** A value together with the place of the event it came from. */
export interface Latest<T> {
  readonly place: string;
  readonly value: T;
}

/** Sort key of an event within its run: time, then id. It is unique, so all replicas agree on the order. */
export function placeOf(event: Pick<AgentEvent, 'occurredAt' | 'id'>): string {
  return `${event.occurredAt.slice(0, -1)}/${event.id}`;
}

/** Strings of UTF-16 units sort like code points, except for these. */
const ORDERED_OTHERWISE = /[\ud800-\uffff]/;

/** Compares like Postgres with collation "C". */
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
