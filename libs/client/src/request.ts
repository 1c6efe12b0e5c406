import type { ClientOptions } from './types.ts';

type Parameter = string | number | boolean | readonly string[] | undefined;

/** Input of any operation. */
export interface Input {
  readonly params?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, Parameter>>;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Converts values to strings and omits undefined ones; lists become `a,b`. */
function texts(members: Readonly<Record<string, Parameter>> = {}): [string, string][] {
  return Object.entries(members).flatMap(([name, value]) => (value === undefined ? [] : [[name, String(value)]]));
}

/** Sends a request for an operation at `path` (`/api/runs/:id`). */
export function send(
  client: ClientOptions,
  method: string,
  path: string,
  { params = {}, query, body, headers: more }: Input,
  headers: Record<string, string | undefined>,
  signal: AbortSignal,
): Promise<Response> {
  const { baseUrl = '', key, fetch = globalThis.fetch } = client;
  const place = path.replace(/:(\w+)/g, (_, name: string) => encodeURIComponent(params[name] ?? ''));
  const search = new URLSearchParams(texts(query)).toString();
  const secret = typeof key === 'function' ? key() : key;
  const content = body === undefined ? {} : { 'content-type': 'application/json' };
  const authorization = secret && `Bearer ${secret}`;
  return fetch(baseUrl.replace(/\/+$/, '') + place + (search && `?${search}`), {
    method,
    headers: texts({ ...content, authorization, ...headers, ...client.headers, ...more }),
    body: JSON.stringify(body),
    signal,
    credentials: secret ? 'omit' : 'include',
  });
}

/** Body of every error answer of the platform. */
interface ProblemBody {
  readonly error?: string;
  readonly code?: string;
  readonly hint?: string;
  readonly requestId?: string;
  readonly details?: readonly { readonly path: string; readonly message: string }[];
}

/** The platform, or a proxy in front of it, rejected the request. For a proxy only `status` is known. */
export class ProblemError extends Error {
  override readonly name = 'ProblemError';
  declare readonly status: number;
  /** Stable code for programs, for example `not_found`. */
  declare readonly code: string | undefined;
  /** Each invalid path with an explanation. */
  declare readonly details: readonly { readonly path: string; readonly message: string }[];
  /** How to fix it. */
  declare readonly hint: string | undefined;
  /** Id of the request in the platform's log. */
  declare readonly requestId: string | undefined;
  /** Suggested retry delay, ms. */
  declare readonly retryAfterMs: number | undefined;
  /** The complete body; further members are documented with the operation. */
  declare readonly body: unknown;

  constructor({ status, headers }: Pick<Response, 'status' | 'headers'>, body: unknown) {
    const problem = (typeof body === 'object' && body !== null ? body : {}) as ProblemBody;
    super(problem.error ?? `HTTP ${status}`);
    const { code, details = [], hint, requestId = headers.get('x-request-id') ?? undefined } = problem;
    const retryAfterMs = Number(headers.get('retry-after')) * 1000 || undefined;
    Object.assign(this, { status, code, details, hint, requestId, retryAfterMs, body });
  }
}

/** @throws ProblemError with the body of the answer */
export async function refuse(answer: Response): Promise<never> {
  const text = await answer.text();
  let body: unknown = text;
  try {
    body = JSON.parse(text);
  } catch {
    // A proxy answered with something other than JSON.
  }
  throw new ProblemError(answer, body);
}
