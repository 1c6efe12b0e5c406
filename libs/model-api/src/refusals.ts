import type { ModelApi, ModelDialect } from './model-dialect.ts';

/** Why the gateway answers a call itself. */
export type RefusalKind =
  /** A rule, a breaker or an order forbids the call. */
  | 'policy'
  /** A budget is spent. */
  | 'money'
  | 'invalid'
  | 'unauthorized'
  | 'forbidden'
  | 'not_found'
  | 'too_large'
  | 'rate_limited'
  /** The provider rejected the credential of the connection. */
  | 'credential_rejected'
  | 'provider_unreachable'
  | 'provider_timeout'
  | 'unavailable';

interface RefusalAnswer {
  readonly status: number;
  /** The error type of the dialect. */
  readonly type: string;
}

/**
 * What each client understands. The statuses of `policy` and `money` were measured with the real clients: these are
 * sent once and their message is shown; others are sent up to six times or hidden behind a message of the client's own.
 * The provider's kind of rate limit stays 429.
 */
export const REFUSALS: Readonly<Record<ModelDialect, Readonly<Record<RefusalKind, RefusalAnswer>>>> = {
  anthropic: {
    policy: { status: 451, type: 'permission_error' },
    money: { status: 402, type: 'billing_error' },
    invalid: { status: 400, type: 'invalid_request_error' },
    unauthorized: { status: 401, type: 'authentication_error' },
    forbidden: { status: 403, type: 'permission_error' },
    not_found: { status: 404, type: 'not_found_error' },
    too_large: { status: 413, type: 'request_too_large' },
    rate_limited: { status: 429, type: 'rate_limit_error' },
    credential_rejected: { status: 502, type: 'api_error' },
    provider_unreachable: { status: 502, type: 'api_error' },
    provider_timeout: { status: 504, type: 'api_error' },
    unavailable: { status: 503, type: 'api_error' },
  },
  openai: {
    policy: { status: 400, type: 'agentlens_policy' },
    money: { status: 402, type: 'agentlens_budget' },
    invalid: { status: 400, type: 'invalid_request_error' },
    unauthorized: { status: 401, type: 'invalid_request_error' },
    forbidden: { status: 403, type: 'invalid_request_error' },
    not_found: { status: 404, type: 'invalid_request_error' },
    too_large: { status: 413, type: 'invalid_request_error' },
    rate_limited: { status: 429, type: 'rate_limit_error' },
    credential_rejected: { status: 502, type: 'server_error' },
    provider_unreachable: { status: 502, type: 'server_error' },
    provider_timeout: { status: 504, type: 'server_error' },
    unavailable: { status: 503, type: 'server_error' },
  },
  gemini: {
    policy: { status: 400, type: 'FAILED_PRECONDITION' },
    money: { status: 402, type: 'FAILED_PRECONDITION' },
    invalid: { status: 400, type: 'INVALID_ARGUMENT' },
    unauthorized: { status: 401, type: 'UNAUTHENTICATED' },
    forbidden: { status: 403, type: 'PERMISSION_DENIED' },
    not_found: { status: 404, type: 'NOT_FOUND' },
    too_large: { status: 413, type: 'INVALID_ARGUMENT' },
    rate_limited: { status: 429, type: 'RESOURCE_EXHAUSTED' },
    credential_rejected: { status: 502, type: 'UNAVAILABLE' },
    provider_unreachable: { status: 502, type: 'UNAVAILABLE' },
    provider_timeout: { status: 504, type: 'DEADLINE_EXCEEDED' },
    unavailable: { status: 503, type: 'UNAVAILABLE' },
  },
};

/** Codex sends a Responses request again on every other status. */
const OF_RESPONSES: Readonly<Partial<Record<RefusalKind, RefusalAnswer>>> = {
  policy: { status: 400, type: 'agentlens_policy' },
  money: { status: 400, type: 'agentlens_budget' },
};

/** A refused call. `code` is stable, for programs; `message` is for people. */
export interface ModelRefusal {
  readonly kind: RefusalKind;
  readonly code: string;
  readonly message: string;
}

/** Kinds after which the same request fails again: clients must not repeat it. */
const FINAL: ReadonlySet<RefusalKind> = new Set([
  'policy',
  'money',
  'invalid',
  'unauthorized',
  'forbidden',
  'not_found',
  'too_large',
  'credential_rejected',
]);

export interface WrittenRefusal {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/**
 * Writes a refusal as the provider would write an error.
 *
 * @param api undefined if the call did not get so far
 */
export function writeRefusal(
  dialect: ModelDialect,
  refusal: ModelRefusal,
  requestId: string,
  api?: ModelApi,
): WrittenRefusal {
  const own = api === 'responses' ? OF_RESPONSES[refusal.kind] : undefined;
  const { status, type } = own ?? REFUSALS[dialect][refusal.kind];
  return {
    status,
    headers: {
      'content-type': 'application/json',
      ...(FINAL.has(refusal.kind) ? { 'x-should-retry': 'false' } : {}),
    },
    body: JSON.stringify(writeError(dialect, { status, type }, refusal, requestId)),
  };
}

function writeError(
  dialect: ModelDialect,
  { status, type }: RefusalAnswer,
  { code, message }: ModelRefusal,
  requestId: string,
): object {
  if (dialect === 'gemini') return writeGeminiError(status, type, { code, message });
  if (dialect === 'anthropic') return { type: 'error', error: { type, message }, request_id: requestId };
  return { error: { message, type, param: null, code } };
}

function writeGeminiError(status: number, type: string, { code, message }: Pick<ModelRefusal, 'code' | 'message'>) {
  const reason = { '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason: code, domain: 'agentlens' };
  return { error: { code: status, message, status: type, details: [reason] } };
}

/** How far a stream has come, as its end has to know. */
export interface StreamProgress {
  /** The response as its first event described it. Only Responses have it. */
  readonly created: Readonly<Record<string, unknown>> | undefined;
  /** The number of the last event. */
  readonly sequenceNumber: number;
}

/** The frame that ends an open stream with an error that the clients of the API show. */
export function writeStopFrame(
  api: ModelApi,
  { code, message }: ModelRefusal,
  requestId: string,
  { created, sequenceNumber }: StreamProgress,
): string {
  if (api === 'messages') {
    const error = { type: 'error', error: { type: 'invalid_request_error', message }, request_id: requestId };
    return `event: error\ndata: ${JSON.stringify(error)}\n\n`;
  }
  if (api === 'generate') {
    return `data: ${JSON.stringify(writeGeminiError(400, 'FAILED_PRECONDITION', { code, message }))}\r\n\r\n`;
  }
  if (api === 'chat') {
    const error = { message, type: 'agentlens_policy', code, param: null };
    return `data: ${JSON.stringify({ error })}\n\n`;
  }
  const response = {
    ...(created ?? { id: `resp_${requestId}`, object: 'response', output: [] }),
    status: 'failed',
    // Clients repeat other codes, or show a text of their own.
    error: { code: 'invalid_prompt', message },
  };
  const failed = { type: 'response.failed', sequence_number: sequenceNumber + 1, response };
  return `event: response.failed\ndata: ${JSON.stringify(failed)}\n\n`;
}
