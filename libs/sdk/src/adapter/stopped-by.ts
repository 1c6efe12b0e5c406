import { type AgentStopped, blockedResult, isAgentStopped } from '../run/agent-stopped.ts';
import type { Decision } from '../wire/decision.ts';

/** Frameworks wrap errors, but never deeper than this. */
const MAX_DEPTH_LEVELS = 8;
const INNER = ['cause', 'error', 'originalError', 'lastError', 'reason'] as const;

/** Returns the AgentStopped that an error is or wraps, or undefined. */
export function stoppedBy(error: unknown, depth = MAX_DEPTH_LEVELS): AgentStopped | undefined {
  if (isAgentStopped(error)) return error;
  if (depth === 0 || typeof error !== 'object' || error === null) return undefined;
  const fields = error as Record<string, unknown>;
  const inner = INNER.map((name) => fields[name]).concat(Array.isArray(fields.errors) ? fields.errors : []);
  for (const one of inner) {
    const found = stoppedBy(one, depth - 1);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Whether an error is the abort of an AbortSignal. */
export function isAbort(error: unknown): boolean {
  return error instanceof Error && /^(Abort|APIUserAbort|Cancel)\w*Error$/.test(error.name);
}

/** Text that the model reads instead of a tool result, for frameworks with text results. */
export function refusalText(decision: Decision): string {
  const { reason, nextStep, approvalId } = blockedResult(decision);
  const named = approvalId === undefined || reason.includes(approvalId) ? '' : ` (approval ${approvalId})`;
  return `${reason}${named}\n${nextStep}`;
}
