import type { ErrorCode } from '../core/agent-error.ts';
import type { Json } from '../core/json.ts';

/** One tool call as requested by a model or planner. */
export interface ToolCall {
  readonly id: string;
  readonly name: string;
  readonly input: Json;
  /** The model's text if it was not valid JSON. */
  readonly malformed?: string;
}

/** Result of one call. */
export interface ActionResult {
  readonly type: 'tool';
  readonly toolId: string;
  readonly toolUseId: string;
  readonly input: Json;
  readonly output: Json;
  readonly isError: boolean;
  readonly code?: ErrorCode;
  readonly durationMs: number;
}
