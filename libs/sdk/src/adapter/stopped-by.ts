import { type AgentStopped, blockedResult, isAgentStopped } from '../run/agent-stopped.ts';
import type { Decision } from '../wire/decision.ts';

/** Frameworks wrap what is thrown inside of them; deeper than this none does. */
const MOST_DEPTH = 8;
const INNER = ['cause', 'error', 'originalError', 'lastError', 'reason'] as const;

/** The AgentStopped that an error is, or wraps; undefined if there is none. */
export function stoppedBy(error: unknown, depth = MOST_DEPTH): AgentStopped | undefined {
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

/** Whether an error says that its caller gave up, as an AbortSignal makes it. */
export function isAbort(error: unknown): boolean {
  return error instanceof Error && /^(Abort|APIUserAbort|Cancel)\w*Error$/.test(error.name);
}

/** What the model reads in place of a tool's result, for frameworks whose results are text. */
export function refusalText(decision: Decision): string {
  const { reason, nextStep } = blockedResult(decision);
  return `${reason}\n${nextStep}`;
}
