/** The part of a timeline entry that the story needs. */
export interface StoryEntry {
  readonly type: string;
  readonly event?: {
    readonly eventType: string;
    readonly payload: { readonly tool?: { readonly name: string }; readonly verdict?: string };
  };
  readonly alert?: { readonly kind: string };
  readonly moment?: string;
  readonly order?: { readonly state: string };
}

const MOMENTS = ['run.started', 'run.ended', 'breaker.tripped'];

/** What happened, in the order of the timeline: what the agent reports, what people did, what was ordered. */
export function storyOf(entries: readonly StoryEntry[]): string[] {
  return entries.flatMap(({ event, alert, moment, order }) => {
    if (alert !== undefined) return [`${alert.kind} ${moment}`];
    if (order !== undefined) return [`order ${order.state}`];
    if (event?.eventType === 'tool.decision') return [`${event.payload.tool?.name} ${event.payload.verdict}`];
    return event !== undefined && MOMENTS.includes(event.eventType) ? [event.eventType] : [];
  });
}
