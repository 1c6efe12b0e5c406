import type { ErrorCode } from './agent-error.ts';
import type { Json } from './json.ts';

/** Result of a tool call as the model receives it. */
export interface ToolResult {
  readonly output: Json;
  readonly isError: boolean;
  readonly code?: ErrorCode;
  readonly meta?: Json;
}

/** Description of a call for a human. */
export interface ToolInfo {
  readonly name: string;
  /** One line: what would happen. */
  readonly actionDescription: string;
  readonly details?: string;
}

export const ToolResult = {
  ok: (output: Json, meta?: Json): ToolResult => ({ output, isError: false, ...(meta === undefined ? {} : { meta }) }),
  error: (code: ErrorCode, message: string, info?: Json): ToolResult => ({
    output: info === undefined ? { error: message } : { error: message, info },
    isError: true,
    code,
  }),
};
