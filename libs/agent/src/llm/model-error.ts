import { AgentError, type ErrorCode, isAgentError } from '../core/agent-error.ts';
import { isPlainObject } from '../core/json.ts';

/** Errors after which the same provider may be retried. */
const RETRYABLE: ReadonlySet<ErrorCode> = new Set([
  ...(['model_unavailable', 'model_rate_limited', 'model_timeout', 'model_cut_off'] as const),
]);

export function isRetryableModelError(error: unknown): boolean {
  return isAgentError(error) && RETRYABLE.has(error.code);
}

/** The provider's `retry-after`, in ms. */
export function retryAfterMs(error: unknown): number | undefined {
  if (!isAgentError(error) || !isPlainObject(error.info)) return undefined;
  const { retryAfterMs: ms } = error.info;
  return typeof ms === 'number' ? ms : undefined;
}

/** An unsuccessful HTTP response. Its body is omitted because it may repeat the prompt. */
export function errorOfStatus(
  provider: string,
  status: number,
  headers: { get(name: string): string | null },
): AgentError {
  const waitMs = readRetryAfter(headers);
  const info = { status, ...(waitMs === undefined ? {} : { retryAfterMs: waitMs }) };
  const message = `${provider} answered ${status}`;
  if (status === 429) return new AgentError('model_rate_limited', message, { info });
  if (status === 401 || status === 403) return new AgentError('model_unauthorized', message, { info });
  if (status === 408 || status === 504) return new AgentError('model_timeout', message, { info });
  // 529 is Anthropic's status for overloaded.
  if (status >= 500) return new AgentError('model_unavailable', message, { info });
  return new AgentError('model_invalid_request', message, { info });
}

function readRetryAfter(headers: { get(name: string): string | null }): number | undefined {
  const ms = Number(headers.get('retry-after-ms') ?? Number.NaN);
  if (Number.isFinite(ms) && ms >= 0) return ms;
  const seconds = Number(headers.get('retry-after') ?? Number.NaN);
  return Number.isFinite(seconds) && seconds >= 0 ? seconds * 1_000 : undefined;
}

export function cutOff(provider: string, why: string): AgentError {
  return new AgentError('model_cut_off', `the answer of ${provider} was cut off: ${why}`);
}

/** Any other failure of a request: connection, DNS, body. */
export function asModelError(provider: string, error: unknown, signal?: AbortSignal): unknown {
  if (signal?.aborted === true) return signal.reason;
  if (isAgentError(error)) return error;
  return new AgentError('model_unavailable', `${provider} could not be reached`, { cause: error });
}
