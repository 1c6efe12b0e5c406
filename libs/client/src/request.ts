import type { ClientOptions } from './types.ts';

type Parameter = string | number | boolean | readonly string[] | undefined;

/** Input of any operation. */
export interface Input {
  readonly params?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, Parameter>>;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Converts parameters to text, omitting undefined ones; lists become `a,b`. */
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
