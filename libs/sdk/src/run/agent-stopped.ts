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
  readonly code: 'AGENTLENS_TOOL_BLOCKED' | 'AGENTLENS_RUN_ENDED';
  readonly reason: string;
  readonly nextStep: string;
}

export function blockedResult(decision: Decision): BlockedResult {
  const over = decision.control === 'TERMINATE';
  return {
    blocked: true,
    code: over ? 'AGENTLENS_RUN_ENDED' : 'AGENTLENS_TOOL_BLOCKED',
    reason: decision.message,
    nextStep: over
      ? 'Stop now. No further call will be allowed in this run.'
      : 'This call did not happen. Continue without it, or say why the task cannot be done.',
  };
}

export function isBlockedResult(value: unknown): value is BlockedResult {
  return typeof value === 'object' && value !== null && (value as { blocked?: unknown }).blocked === true;
}
