import type { ErrorCode } from '../core/agent-error.ts';
import type { Json } from '../core/json.ts';
import { ToolResult } from '../core/tool-result.ts';

/** What a model should do next after a refusal. */
export const STOP = 'Stop now. No further call will be allowed in this run.';
export const GO_ON = 'This call did not happen. Continue without it, or say why the task cannot be done.';

export function refusal(code: ErrorCode, message: string, info?: Json): ToolResult {
  return ToolResult.error(code, message, info ?? { nextStep: GO_ON });
}
