import { AsyncLocalStorage } from 'node:async_hooks';
import { idSource } from './ids.ts';
import type { ContextStore, Runtime } from './runtime.ts';
import { systemClock } from './system-clock.ts';
import { undiciHttp } from './undici-http.ts';

/** One for the process, so that `getCurrentRun` needs no client. */
export const context: ContextStore = new AsyncLocalStorage<object>();

export function createRuntime(): Runtime {
  return {
    clock: systemClock,
    http: undiciHttp(),
    newId: idSource(),
    random: Math.random,
    background: true,
  };
}
