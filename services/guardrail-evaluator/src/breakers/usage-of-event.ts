import { type AgentEvent, BreakerReason } from '@agentlens/contracts';

export { usageOfEvent } from '@agentlens/guardrails';

/**
 * The reason why a breaker opened inside the agent's process, if this event reports that. Breakers that an operator
 * opens are opened here, not in the agent.
 */
export function trippedBy({ kind, sourceType, payload }: AgentEvent): BreakerReason | null {
  if (kind !== 'custom.recorded' || sourceType !== 'breaker.tripped') return null;
  const reason = BreakerReason.safeParse(payload.reason);
  return reason.success && reason.data !== 'operator' ? reason.data : null;
}

/**
 * The name of a call as the probe of a half-open breaker. A client without call ids makes one call per question, so its
 * run identifies the call in later events. With call ids, `question` distinguishes calls that share an id.
 */
export function probeName({ runId, callId }: ProbingCall, question: string): string {
  return callId === undefined ? `run:${runId}#${question}` : `${calledIn(runId, callId)}${question}`;
}

interface ProbingCall {
  readonly runId: string;
  readonly callId?: string | undefined;
}

/** Returns true if this event reports the result of the probe. */
export function reportsOf({ runId, callId }: AgentEvent, probe: string): boolean {
  if (probe.startsWith('run:')) return callId === undefined && probe.startsWith(`run:${runId}#`);
  return callId !== undefined && probe.startsWith(calledIn(runId, callId));
}

function calledIn(runId: string, callId: string): string {
  return `call:${JSON.stringify([runId, callId])}`;
}
