import { type Http, type HttpCall, MOST_ANSWER_CHARS } from './runtime.ts';

/** HTTP over the platform's `fetch`, for runtimes that have nothing faster. */
export function fetchHttp(): Http {
  const send = ({ method, url, headers, body, signal }: HttpCall) =>
    fetch(url, { method, headers, signal, redirect: 'error', ...(body === undefined ? {} : { body }) });
  return {
    async call(call) {
      const response = await send(call);
      let text = '';
      for await (const chunk of decoded(response)) {
        text += chunk;
        if (text.length > MOST_ANSWER_CHARS) break;
      }
      return { status: response.status, text, header: (name) => response.headers.get(name) ?? undefined };
    },
    async stream(call) {
      const response = await send(call);
      const contentType = response.headers.get('content-type') ?? '';
      return { status: response.status, contentType, chunks: decoded(response) };
    },
    close: () => Promise.resolve(),
  };
}

async function* decoded(response: Response): AsyncGenerator<string> {
  const reader = response.body?.getReader();
  if (reader === undefined) return;
  const decoder = new TextDecoder();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      yield decoder.decode(value, { stream: true });
    }
  } finally {
    // Also when only a part was wanted: an answer that is not read to its end would hold its connection.
    reader.cancel().catch(() => undefined);
  }
}
