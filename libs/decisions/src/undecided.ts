import {
  contentHash,
  type Decision,
  type DecisionRequest,
  recordedToolName,
  timeOrderedId,
} from '@agentlens/contracts';

/** What happens to calls that could not be evaluated. */
export type FailMode = 'allow' | 'block';

/** What every decision says, whether gateway or evaluator made it. */
export function describeCall(request: DecisionRequest, nowMs: number) {
  const { tenantId, agentId, runId, phase, tool, callId, receivedAt } = request;
  return {
    id: timeOrderedId(nowMs),
    tenantId,
    agentId,
    runId,
    phase,
    toolName: tool && recordedToolName(tool.name),
    callId,
    evaluatedRules: [],
    inputsDigest: contentHash(request, 'args'),
    latencyMs: Math.max(0, nowMs - Date.parse(receivedAt)),
    decidedAt: new Date(nowMs).toISOString(),
  };
}

/** Refuses a question that is not evaluated at all, regardless of the fail mode. */
export function refuse(request: DecisionRequest, nowMs: number, message: string): Decision {
  return {
    ...describeCall(request, nowMs),
    bypasses: [],
    verdict: 'BLOCK',
    control: 'CONTINUE',
    effect: 'block',
    cause: { kind: 'LOCKDOWN' },
    message,
  };
}

/** Answers a question that no rule judged. */
export function decideByFailMode(
  request: DecisionRequest,
  nowMs: number,
  did: FailMode,
  why: 'unavailable' | 'error',
): Decision {
  const answer =
    did === 'allow'
      ? ({ verdict: 'ALLOW', effect: 'allow', cause: { kind: 'ALLOW' } } as const)
      : ({ verdict: 'BLOCK', effect: 'block', cause: { kind: 'LOCKDOWN' } } as const);
  return {
    ...describeCall(request, nowMs),
    ...answer,
    bypasses: [{ ruleId: '*', why, did }],
    reason: 'unjudged',
    control: 'CONTINUE',
    message: `No rule could be evaluated in time; the call is ${did}ed by the fail mode`,
  };
}
