import { type AgentEvent, BreakerReason } from '@agentlens/contracts';

export { usageOfEvent } from '@agentlens/guardrails';

/**
 * Why a breaker inside the agent's process opened, where this event says that it did. What an operator opens is opened
 * here, not there.
 */
export function trippedBy({ kind, sourceType, payload }: AgentEvent): BreakerReason | null {
  if (kind !== 'custom.recorded' || sourceType !== 'breaker.tripped') return null;
  const reason = BreakerReason.safeParse(payload.reason);
  return reason.success && reason.data !== 'operator' ? reason.data : null;
}

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
