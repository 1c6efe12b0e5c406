import type { AgentEvent } from '@agentlens/contracts';

export { usageOfEvent } from '@agentlens/guardrails';

/**
 * The name a call has as the probe of a half-open breaker. A client without call ids makes one call per question, and
 * its run can be known again by what it reports; with one, `question` tells the calls of one id apart.
 */
export function probeName({ runId, callId }: ProbingCall, question: string): string {
  return callId === undefined ? `run:${runId}#${question}` : `${calledIn(runId, callId)}${question}`;
}

interface ProbingCall {
  readonly runId: string;
  readonly callId?: string | undefined;
}

/** The probe's name where this event reports of the probe. */
export function reportsOf({ runId, callId }: AgentEvent, probe: string): boolean {
  if (probe.startsWith('run:')) return callId === undefined && probe.startsWith(`run:${runId}#`);
  return callId !== undefined && probe.startsWith(calledIn(runId, callId));
}

function calledIn(runId: string, callId: string): string {
  return `call:${JSON.stringify([runId, callId])}`;
}
