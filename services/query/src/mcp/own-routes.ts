import type { FastifyInstance, InjectOptions } from 'fastify';

/**
 * A `fetch` that calls this process without a connection. Requests pass the same hooks as requests from outside, so
 * their key's scopes apply.
 */
export function fetchOwnRoutes(server: FastifyInstance): typeof fetch {
  return async (input, init = {}) => {
    const { method = 'GET', body, signal } = init;
    const url = input instanceof Request ? input.url : input;
    const answer = await server.inject({
      method: method as InjectOptions['method'],
      url: url.toString(),
      headers: Object.fromEntries(new Headers(init.headers)),
      payload: typeof body === 'string' ? body : undefined,
      signal: signal ?? undefined,
    });
    const headers = Object.entries(answer.headers).map(([name, value]) => [name, String(value)] as [string, string]);
    return new Response(answer.rawPayload.length > 0 ? new Uint8Array(answer.rawPayload) : null, {
      status: answer.statusCode,
      headers,
    });
  };
}
