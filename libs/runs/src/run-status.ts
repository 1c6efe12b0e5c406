import type { AgentEvent, RunOutcome } from '@agentlens/contracts';

export type RunStatus = 'running' | RunOutcome | 'lost';

/** How this event says the run ended; undefined for every other event. */
export function outcomeOf(event: Pick<AgentEvent, 'kind' | 'outcome' | 'isError'>): RunOutcome | undefined {
  if (event.kind !== 'run.ended') return undefined;
  return event.outcome ?? (event.isError ? 'failed' : 'succeeded');
}
