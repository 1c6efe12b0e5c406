import { readStream } from './event-stream.ts';
import { refuse } from './problem-error.ts';
import { type Input, send } from './request.ts';
import { ROUTES } from './routes.ts';
import type { CallOptions, Client, ClientOptions } from './types.ts';

const TIMEOUT_MS = 10_000;

/**
 * Creates a client with a method for every operation: `client.getRun({ params: { id } })`.
 *
 * @throws ProblemError, from a method, if the platform rejects the request; DOMException `TimeoutError` or `AbortError`
 * if the deadline passed or the caller's signal aborted; TypeError if the platform cannot be reached
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

/** Input and output of every paged list. */
interface Paged {
  readonly query?: { readonly cursor?: string; readonly offset?: number };
}
interface PageAnswer {
  readonly nextCursor?: string;
}

/**
 * Iterates over the pages of a list, requesting each when needed: `for await (const { runs } of pages(client.listRuns,
 * { query: { agentId } }))`.
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
    // The cursor marks the end of the previous page; an offset would skip twice.
    next = { ...next, query: { ...next.query, offset: undefined, cursor } };
  }
}
