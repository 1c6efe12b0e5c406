import { createParser, type EventSourceMessage } from 'eventsource-parser';
import { AgentError } from '../core/agent-error.ts';
import { asModelError, errorOfStatus } from './model-error.ts';

export interface HttpModelOptions {
  readonly provider: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
}

/** Sends a request to a provider and returns the response body as a stream. @throws AgentError `model_…` */
export async function postToModel(
  { provider, url, headers, signal }: HttpModelOptions,
  body: unknown,
): Promise<ReadableStream<Uint8Array>> {
  let response: Response;
  try {
    response = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
      redirect: 'error',
      ...(signal === undefined ? {} : { signal }),
    });
  } catch (error) {
    throw asModelError(provider, error, signal);
  }
  if (!response.ok) {
    await response.body?.cancel();
    throw errorOfStatus(provider, response.status, response.headers);
  }
  if (response.body === null) throw new AgentError('model_cut_off', `${provider} answered without a body`);
  return response.body;
}

/** A provider's address without a trailing slash. @throws AgentError `invalid_config` */
export function baseUrlOf(url: string): string {
  if (URL.parse(url) === null) throw new AgentError('invalid_config', `baseUrl is not a URL: ${url}`);
  return url.replace(/\/+$/, '');
}

export function checkApiKey(provider: string, apiKey: string): string {
  if (apiKey === '') throw new AgentError('invalid_config', `${provider} needs an apiKey`);
  return apiKey;
}

/** Providers send no longer events; an endless one must not fill the memory. */
const MAX_EVENT_CHARS = 8 * 1024 * 1024;

/** The events of a response body, as they arrive. */
export async function* serverSentEvents(body: ReadableStream<Uint8Array>): AsyncGenerator<EventSourceMessage> {
  const events: EventSourceMessage[] = [];
  const parser = createParser({ onEvent: (event) => events.push(event) });
  const decoder = new TextDecoder();
  const reader = body.getReader();
  let unread = 0;
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      const text = decoder.decode(value, { stream: true });
      parser.feed(text);
      unread = events.length > 0 ? 0 : unread + text.length;
      if (unread > MAX_EVENT_CHARS)
        throw new AgentError('model_cut_off', 'the provider sent an event that is too long');
      yield* events.splice(0);
    }
  } finally {
    // Closes the connection if it is still open.
    await reader.cancel().catch(() => undefined);
  }
}
