import type { ClientOptions } from './types.ts';

type Parameter = string | number | boolean | readonly string[] | undefined;

/** What a caller gives, of whichever operation. */
export interface Input {
  readonly params?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, Parameter>>;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/** As text, without what is undefined; lists as `a,b`. */
function texts(members: Readonly<Record<string, Parameter>> = {}): [string, string][] {
  return Object.entries(members).flatMap(([name, value]) => (value === undefined ? [] : [[name, String(value)]]));
}

/** One request of an operation at `path` (`/api/runs/:id`). */
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

/** What every refusal of the platform carries. */
interface ProblemBody {
  readonly error?: string;
  readonly code?: string;
  readonly hint?: string;
  readonly requestId?: string;
  readonly details?: readonly { readonly path: string; readonly message: string }[];
}

/** The platform refused the request, or something on the way did (then only `status` says why). */
export class ProblemError extends Error {
  override readonly name = 'ProblemError';
  declare readonly status: number;
  /** Stable, for programs: `not_found`. */
  declare readonly code: string | undefined;
  /** Each path that is wrong, and what would be right. */
  declare readonly details: readonly { readonly path: string; readonly message: string }[];
  /** What to do about it. */
  declare readonly hint: string | undefined;
  /** What the platform's log knows this request by. */
  declare readonly requestId: string | undefined;
  /** When to come back, ms. */
  declare readonly retryAfterMs: number | undefined;
  /** The whole answer: further members are documented with the operation. */
  declare readonly body: unknown;

  constructor({ status, headers }: Pick<Response, 'status' | 'headers'>, body: unknown) {
    const problem = (typeof body === 'object' && body !== null ? body : {}) as ProblemBody;
    super(problem.error ?? `HTTP ${status}`);
    const { code, details = [], hint, requestId = headers.get('x-request-id') ?? undefined } = problem;
    const retryAfterMs = Number(headers.get('retry-after')) * 1000 || undefined;
    Object.assign(this, { status, code, details, hint, requestId, retryAfterMs, body });
  }
}

/** @throws ProblemError unless the answer is a success. */
export async function refuse(answer: Response): Promise<never> {
  const text = await answer.text();
  let body: unknown = text;
  try {
    body = JSON.parse(text);
  } catch {
    // Something between us and the platform answered: the text is all there is.
  }
  throw new ProblemError(answer, body);
}
