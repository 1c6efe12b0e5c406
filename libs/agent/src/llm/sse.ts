import { createParser, type EventSourceMessage } from 'eventsource-parser';
import { AgentError } from '../core/agent-error.ts';

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
