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
