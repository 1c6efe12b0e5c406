import { readStream } from './event-stream.ts';
import { ROUTES } from './routes.ts';
import type { CallOptions, Client, ClientOptions } from './types.ts';

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

const TIMEOUT_MS = 10_000;

/**
 * A method for every operation: `client.getRun({ params: { id } })`.
 * @throws ProblemError, from a method, when the platform refuses; DOMException `TimeoutError` or `AbortError` when the
 * deadline passed or the caller's signal fired; TypeError when the platform cannot be reached
 */
export function createClient(options: ClientOptions = {}): Client {
  const methods = Object.entries(ROUTES).map(([id, route]) => {
    const [method = '', path = ''] = route.split(' ');
    const isStream = method === 'STREAM';
    return [
      id,
      (input: Input = {}) => (isStream ? readStream(options, path, input) : call(options, method, path, input)),
    ];
  });
  return Object.fromEntries(methods) as Client;
}

async function call(
  options: ClientOptions,
  method: string,
  path: string,
  input: Input & CallOptions,
): Promise<unknown> {
  const { signal, timeoutMs = options.timeoutMs ?? TIMEOUT_MS, idempotencyKey, ifMatch } = input;
  const deadline = AbortSignal.timeout(timeoutMs);
  const headers = { 'idempotency-key': idempotencyKey, 'if-match': ifMatch === undefined ? undefined : `"${ifMatch}"` };
  const answer = await send(
    options,
    method,
    path,
    input,
    headers,
    signal ? AbortSignal.any([signal, deadline]) : deadline,
  );
  if (!answer.ok) await refuse(answer);
  const text = await answer.text();
  return text === '' ? undefined : JSON.parse(text);
}

/** What every paged list takes and answers, whatever else. */
interface Paged {
  readonly query?: { readonly cursor?: string; readonly offset?: number };
}
interface PageAnswer {
  readonly nextCursor?: string;
}

/**
 * Every page of a list, each asked for when the one before is done with:
 * `for await (const { runs } of pages(client.listRuns, { query: { agentId } }))`.
 */
export async function* pages<List extends (input: never) => Promise<object>>(
  list: List,
  input: NonNullable<Parameters<List>[0]>,
): AsyncGenerator<Awaited<ReturnType<List>>> {
  const ask = list as unknown as (input: Paged) => Promise<Awaited<ReturnType<List>>>;
  let next: Paged = input;
  for (;;) {
    const page = await ask(next);
    yield page;
    const { nextCursor: cursor } = page as PageAnswer;
    if (cursor === undefined) return;
    // A cursor is where the last page ended: an offset would skip again.
    next = { ...next, query: { ...next.query, offset: undefined, cursor } };
  }
}
