import { adapterContext } from '#runtime';
import type { Run } from '../run/run.ts';
import type { RunScope } from './run-scope.ts';

/** The part of an agent's work that the current code belongs to. Shared by all adapters in the process. */
export interface AdapterPlace {
  readonly scope: RunScope;
  /** The current run when the scope was opened. Code with a different run is not in this scope. */
  readonly outer: Run | undefined;
  /** Set inside this tool call: an agent that starts here is a child. */
  readonly callId?: string;
}

export function currentPlace(): AdapterPlace | undefined {
  return adapterContext.getStore() as AdapterPlace | undefined;
}

export function inPlace<R>(place: AdapterPlace, body: () => R): R {
  return adapterContext.run(place, body);
}
