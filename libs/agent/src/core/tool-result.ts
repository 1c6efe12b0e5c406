import type { ErrorCode } from './agent-error.ts';
import type { Json } from './json.ts';

/** What came of a tool call, as the model is told. */
export interface ToolResult {
  readonly output: Json;
  readonly isError: boolean;
  readonly code?: ErrorCode;
  readonly meta?: Json;
}

/** What a human is asked about a call. */
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
