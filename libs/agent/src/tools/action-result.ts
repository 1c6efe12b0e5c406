import type { ErrorCode } from '../core/agent-error.ts';
import type { Json } from '../core/json.ts';

/** One tool call as a model or planner wants it. */
export interface ToolCall {
  readonly id: string;
  readonly name: string;
  readonly input: Json;
  /** What the model wrote instead of JSON. */
  readonly malformed?: string;
}

/** What came of one call. */
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
