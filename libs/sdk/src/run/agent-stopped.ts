import type { Decision } from '../wire/decision.ts';

/** The agent must stop. Thrown by hooks that have no other way to report it, such as before a model call. */
export class AgentStopped extends Error {
  override readonly name = 'AgentStopped';
  readonly decision: Decision;

  constructor(decision: Decision) {
    super(decision.message);
    this.decision = decision;
  }
}

/** A tool call was blocked; only thrown by `wrapTool` with `onBlock: 'throw'`. */
export class ToolBlocked extends Error {
  override readonly name = 'ToolBlocked';
  readonly decision: Decision;

  constructor(decision: Decision) {
    super(decision.message);
    this.decision = decision;
  }
}

/** Also works with two copies of this package in one process, unlike `instanceof`. */
export function isAgentStopped(error: unknown): error is AgentStopped {
  return error instanceof Error && error.name === 'AgentStopped' && 'decision' in error;
}

export function isToolBlocked(error: unknown): error is ToolBlocked {
  return error instanceof Error && error.name === 'ToolBlocked' && 'decision' in error;
}

/** What a model receives instead of a tool result. */
export interface BlockedResult {
  readonly blocked: true;
  readonly code: 'AGENTLENS_TOOL_BLOCKED' | 'AGENTLENS_WAITS_FOR_APPROVAL' | 'AGENTLENS_RUN_ENDED';
  readonly reason: string;
  readonly nextStep: string;
  /** With `AGENTLENS_WAITS_FOR_APPROVAL`: the approval that a person decides about. */
  readonly approvalId?: string;
}

const NEXT_STEPS = {
  over: 'Stop now. No further call will be allowed in this run.',
  waits:
    'This call waits for a person and has not happened. Do not repeat it until the user says that it is approved. Tell the user, and continue with other work.',
  withheldUntilApproved:
    'This call was made, and its result waits for a person. Do not repeat it. Tell the user, and continue with other work.',
  withheld: 'This call was made, but its result is withheld. Do not repeat it. Continue without the result.',
  refused: 'This call did not happen. Continue without it, or say why the task cannot be done.',
} as const;

export function blockedResult(decision: Decision): BlockedResult {
  const { cause, control, phase, message: reason } = decision;
  const isMade = phase === 'tool.after';
  if (cause.kind === 'HITL_PENDING') {
    const nextStep = isMade ? NEXT_STEPS.withheldUntilApproved : NEXT_STEPS.waits;
    return { blocked: true, code: 'AGENTLENS_WAITS_FOR_APPROVAL', reason, nextStep, approvalId: cause.approvalId };
  }
  if (control === 'TERMINATE') return { blocked: true, code: 'AGENTLENS_RUN_ENDED', reason, nextStep: NEXT_STEPS.over };
  return {
    blocked: true,
    code: 'AGENTLENS_TOOL_BLOCKED',
    reason,
    nextStep: isMade ? NEXT_STEPS.withheld : NEXT_STEPS.refused,
  };
}

export function isBlockedResult(value: unknown): value is BlockedResult {
  return typeof value === 'object' && value !== null && (value as { blocked?: unknown }).blocked === true;
}
