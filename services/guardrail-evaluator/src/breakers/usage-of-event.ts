import type { AgentEvent } from '@agentlens/contracts';

export { usageOfEvent } from '@agentlens/guardrails';

/**
 * The name a call has as the probe of a half-open breaker. A client without call ids makes one call per question, and
 * its run can be known again by what it reports.
 */
export function probeName(call: { readonly runId: string; readonly callId?: string | undefined }, id: string): string {
  return call.callId === undefined ? `run:${call.runId}#${id}` : `call:${call.runId}#${call.callId}`;
}

/** The probe's name where this event reports of the probe. */
export function reportsOf({ runId, callId }: AgentEvent, probe: string): boolean {
  if (probe.startsWith('run:')) return callId === undefined && probe.startsWith(`run:${runId}#`);
  return probe === `call:${runId}#${callId ?? ''}`;
}
