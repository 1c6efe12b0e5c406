import { context } from '#runtime';
import type { ContextStore } from '../runtime/runtime.ts';
import type { Run } from './run.ts';

let store: ContextStore = context;

/**
 * Binds a run to everything `body` does, across `await` too, so that tools and callbacks find it with
 * `getCurrentRun`. A body that throws marks the run as failed for `await using`; it does not end it.
 */
export async function withRun<R>(run: Run, body: () => R | Promise<R>): Promise<R> {
  try {
    return await store.run(run, body);
  } catch (error) {
    run.noteFailure();
    throw error;
  }
}

/** The same for a body of any kind: what it throws says nothing about the run. */
export function bindRun<R>(run: Run, body: () => R): R {
  return store.run(run, body);
}

/** The run this code works for, or undefined outside of `withRun`. */
export function getCurrentRun(): Run | undefined {
  return store.getStore() as Run | undefined;
}

/**
 * For runtimes whose AsyncLocalStorage has to be imported (a worker with its compatibility flag): hand it over once,
 * at start. Without it, and outside Node, the current run is known only up to the first `await`.
 */
export function useContextStore(other: ContextStore): void {
  store = other;
}
