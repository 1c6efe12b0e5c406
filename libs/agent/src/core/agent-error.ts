import { isPlainObject, type Json } from './json.ts';

export const ERROR_CODES = [
  ...(['model_unavailable', 'model_rate_limited', 'model_timeout', 'model_invalid_request'] as const),
  ...(['model_unauthorized', 'model_cut_off', 'model_refused'] as const),
  ...(['unknown_tool', 'invalid_input', 'tool_failed', 'tool_timeout', 'tool_fatal', 'rate_limited'] as const),
  ...(['denied', 'no_one_to_ask', 'denied_by_host', 'withheld'] as const),
  ...(['blocked_by_safety', 'blocked_by_platform', 'run_ended', 'limit_reached'] as const),
  ...(['aborted', 'interrupted', 'output_invalid'] as const),
  ...(['missing_variables', 'template_invalid', 'template_limit'] as const),
  ...(['session_busy', 'session_corrupt', 'session_not_found', 'session_write_failed', 'schema_too_new'] as const),
  ...(['replay_mismatch', 'illegal_transition', 'forbidden', 'capacity', 'conflict', 'stale_answer'] as const),
  ...(['invalid_config', 'decrypt_failed', 'agent_failed'] as const),
] as const;

export type ErrorCode = (typeof ERROR_CODES)[number];

/** An error as data, in events, results and stored states. */
export interface ErrorInfo {
  readonly code: ErrorCode;
  readonly message: string;
  readonly info?: Json;
}

export interface AgentErrorOptions {
  readonly cause?: unknown;
  readonly info?: Json;
}

/**
 * Every error of the runtime. Distinguish errors by `code`, which works with two copies of this package in one process.
 * Messages contain no limits, secrets or inputs.
 */
export class AgentError extends Error {
  override readonly name = 'AgentError';
  readonly code: ErrorCode;
  readonly info: Json | undefined;

  constructor(code: ErrorCode, message: string, options: AgentErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.info = options.info;
  }
}

export function isAgentError(error: unknown, ...codes: readonly ErrorCode[]): error is AgentError {
  if (!(error instanceof Error) || error.name !== 'AgentError' || !('code' in error)) return false;
  return codes.length === 0 || codes.includes(error.code as ErrorCode);
}

/** A thrown value as data. Anything but an AgentError gets `fallback` as its code. */
export function errorInfo(error: unknown, fallback: ErrorCode = 'agent_failed'): ErrorInfo {
  if (isAgentError(error)) {
    return { code: error.code, message: error.message, ...(error.info === undefined ? {} : { info: error.info }) };
  }
  return { code: fallback, message: messageOf(error) };
}

export function messageOf(error: unknown): string {
  const text = error instanceof Error ? error.message || error.name : String(error);
  return text.length > 2_000 ? `${text.slice(0, 2_000)}…` : text;
}

/** The code of a system error, such as `ENOENT`. Checks the shape, which also works across realms. */
export function systemCode(error: unknown): string | undefined {
  return isPlainObject(error) && typeof error.code === 'string' ? error.code : undefined;
}
