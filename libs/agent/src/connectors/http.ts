import { type Json, parseJson } from '../core/json.ts';
import type { Secret } from '../host/host.ts';
import type { Connector } from './connector.ts';

export interface HttpConnectorOptions {
  readonly id?: string;
  /** Sent with each request; `secret('NAME')` keeps a key out of everything but the request. */
  readonly headers?: Readonly<Record<string, string | Secret>>;
  readonly timeoutMs?: number;
  /** Attempts of a GET without a response or with 5xx. Default 2. */
  readonly tries?: number;
}

interface HttpInput {
  readonly method?: 'GET' | 'POST' | 'PUT';
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Json;
}

/** HTTP through the host, as far as the host allows it. */
export function httpConnector(options: HttpConnectorOptions = {}): Connector {
  const { id = 'http', headers = {}, timeoutMs = 10_000, tries = 2 } = options;
  return {
    id,
    description: 'Sends an HTTP request and returns {status, headers, body}. A body that is not text is sent as JSON.',
    safeByDefault: false,
    category: 'network',
    timeoutMs: timeoutMs * tries + 5_000,
    schema: {
      type: 'object',
      properties: {
        method: { enum: ['GET', 'POST', 'PUT'] },
        url: { type: 'string' },
        headers: { type: 'object', additionalProperties: { type: 'string' } },
        body: {},
      },
      required: ['url'],
      additionalProperties: false,
    },
    async run(input, { host, signal, effects }) {
      const { method = 'GET', url, headers: own = {}, body } = input as unknown as HttpInput;
      // The model must not replace headers set by the agent's owner.
      const fixed = new Set(Object.keys(headers).map((name) => name.toLowerCase()));
      const free = Object.fromEntries(Object.entries(own).filter(([name]) => !fixed.has(name.toLowerCase())));
      const text = body === undefined || typeof body === 'string' ? body : JSON.stringify(body);
      const json: Record<string, string> =
        body === undefined || typeof body === 'string' ? {} : { 'content-type': 'application/json' };
      const send = () =>
        host.http.send({
          method,
          url,
          headers: { ...json, ...free, ...headers },
          ...(text === undefined ? {} : { body: text }),
          timeoutMs,
          signal,
        });
      for (let attempt = 1; ; attempt++) {
        const { status, headers: answered, body: received } = await send();
        if (status >= 500 && method === 'GET' && attempt < tries) {
          await effects.sleep(200 * attempt, signal);
          continue;
        }
        const parsed = answered['content-type']?.includes('json') === true ? parseJson(received) : undefined;
        return { ok: status < 400, output: { status, headers: answered, body: parsed ?? received } };
      }
    },
  };
}
