import { AsyncLocalStorage } from 'node:async_hooks';
import type { ContextStore, Runtime } from './runtime.ts';
import { idSource, sharedContext, systemClock } from './shared.ts';
import { undiciHttp } from './undici-http.ts';

/** One per process, so that `getCurrentRun` needs no client and two copies of this package share the current run. */
export const context: ContextStore = sharedContext('agentlens.run.v1', () => new AsyncLocalStorage<object>());
/** For adapters: the call that the current code belongs to. */
export const adapterContext: ContextStore = sharedContext('agentlens.adapter.v1', () => new AsyncLocalStorage());

const atExit = new Set<() => void>();

/** One listener for all clients, which avoids Node's listener warning. */
function onExit(run: () => void): () => void {
  if (atExit.size === 0) process.once('exit', runAtExit);
  atExit.add(run);
  return () => {
    atExit.delete(run);
    if (atExit.size === 0) process.off('exit', runAtExit);
  };
}

function runAtExit(): void {
  for (const run of atExit) run();
}

export function createRuntime(): Runtime {
  return {
    clock: systemClock,
    http: undiciHttp(),
    newId: idSource(),
    random: Math.random,
    background: true,
    atExit: onExit,
  };
}
