import { type ContextStore, type Http, type HttpCall, MAX_ANSWER_CHARS, type Runtime } from './runtime.ts';
import { idSource, sharedContext, systemClock } from './shared.ts';

/** HTTP over the platform's `fetch`, for runtimes without a faster client. */
function fetchHttp(): Http {
  const send = ({ method, url, headers, body, signal }: HttpCall) =>
    fetch(url, { method, headers, signal, redirect: 'error', ...(body === undefined ? {} : { body }) });
  return {
    async call(call) {
      const response = await send(call);
      let text = '';
      for await (const chunk of decoded(response)) {
        text += chunk;
        if (text.length > MAX_ANSWER_CHARS) break;
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
    // Also after a partial read: an unread response would hold its connection.
    reader.cancel().catch(() => undefined);
  }
}

interface MayHaveStorage {
  AsyncLocalStorage?: new () => ContextStore;
}

/** Some edge runtimes offer AsyncLocalStorage as a global; elsewhere the current run ends with the synchronous part. */
export const context: ContextStore = sharedContext('agentlens.run.v1', createContext);
export const adapterContext: ContextStore = sharedContext('agentlens.adapter.v1', createContext);

export function createRuntime(): Runtime {
  return {
    clock: systemClock,
    http: fetchHttp(),
    newId: idSource(),
    random: Math.random,
    background: false,
  };
}

function createContext(): ContextStore {
  const { AsyncLocalStorage } = globalThis as MayHaveStorage;
  return AsyncLocalStorage === undefined ? synchronousContext() : new AsyncLocalStorage();
}

/**
 * Knows the run only until the first `await` of the body: without platform support, remembering it longer would mix up
 * concurrent requests.
 */
function synchronousContext(): ContextStore {
  let current: object | undefined;
  return {
    getStore: () => current,
    run(value, body) {
      const outer = current;
      current = value;
      try {
        return body();
      } finally {
        current = outer;
      }
    },
  };
}
