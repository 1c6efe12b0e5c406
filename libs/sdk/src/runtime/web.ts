import { fetchHttp } from './fetch-http.ts';
import { idSource } from './ids.ts';
import type { ContextStore, Runtime } from './runtime.ts';
import { sharedContext } from './shared-context.ts';
import { systemClock } from './system-clock.ts';

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
 * Knows the run only until the first `await` of the body: without help from the platform any longer memory would
 * answer one request with another one's run.
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
