import type { AgentEvent, EventFacts, EventKind } from '@agentlens/contracts';

/** What is folded of an event: its facts, and its payload where `readsPayload` of its kind. */
export type FoldedEvent = EventFacts & Partial<Pick<AgentEvent, 'payload'>>;

const READ: ReadonlySet<EventKind> = new Set<EventKind>(['run.started', 'run.ended', 'agent.registered']);

/** Whether a fold looks into the payload of such an event. */
export function readsPayload(kind: EventKind): boolean {
  return READ.has(kind);
}
