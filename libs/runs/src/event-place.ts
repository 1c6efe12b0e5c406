import type { AgentEvent } from '@agentlens/contracts';

/**
 * Where an event stands among all events of its run: by time, then by id, so that two events never stand at the same
 * place and every replica agrees which of them is the later one.
 */
export function placeOf(event: Pick<AgentEvent, 'occurredAt' | 'id'>): string {
  return `${event.occurredAt.slice(0, -1)}/${event.id}`;
}

/** By code point, as Postgres compares under the collation "C". */
export function isAfter(a: string, b: string): boolean {
  return Buffer.compare(Buffer.from(a), Buffer.from(b)) > 0;
}

export function lesser(a: string | undefined, b: string | undefined): string | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  return isAfter(a, b) ? b : a;
}
