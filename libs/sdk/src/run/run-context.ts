import { context } from '#runtime';
import type { ContextStore } from '../runtime/runtime.ts';
import type { Run } from './run.ts';

let store: ContextStore = context;

/**
 * Makes a run current during `body`, across `await` too, so that tools and callbacks find it with `getCurrentRun`. A
 * body that throws marks the run as failed for `await using`; it does not end it.
 */
export async function withRun<R>(run: Run, body: () => R | Promise<R>): Promise<R> {
  try {
    return await store.run(run, body);
  } catch (error) {
    run.noteFailure();
    throw error;
  }
}

/** Like `withRun` for any body; an error does not mark the run as failed. */
export function bindRun<R>(run: Run, body: () => R): R {
  return store.run(run, body);
}

/** The run that this code works for, or undefined outside `withRun`. */
export function getCurrentRun(): Run | undefined {
  return store.getStore() as Run | undefined;
}

/**
 * For runtimes whose AsyncLocalStorage has to be imported (a worker with its compatibility flag): call once at start.
 * Without it, and outside Node, the current run is known only until the first `await`.
 */
export function useContextStore(other: ContextStore): void {
  store = other;
}
