import { readStream } from './event-stream.ts';
import { type Input, refuse, send } from './request.ts';
import { ROUTES } from './routes.ts';
import type { CallOptions, Client, ClientOptions } from './types.ts';

const TIMEOUT_MS = 10_000;

/**
 * Creates a client with a method for every operation: `client.getRun({ params: { id } })`.
 * @throws (from a method) ProblemError if the platform rejects the request; DOMException `TimeoutError` or `AbortError`
 * after
 * the timeout or if the caller's signal fires; TypeError if the platform is unreachable
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
