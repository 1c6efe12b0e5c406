import { adapterContext } from '#runtime';
import type { Run } from '../run/run.ts';
import type { RunScope } from './run-scope.ts';

/** Which part of an agent's work this code belongs to. One for the process, whichever adapter asks. */
export interface AdapterPlace {
  readonly scope: RunScope;
  /** The current run where the scope was opened: code that has another one is not of this scope. */
  readonly outer: Run | undefined;
  /** Inside of this tool call: an agent that begins here is a child. */
  readonly callId?: string;
}

export function currentPlace(): AdapterPlace | undefined {
  return adapterContext.getStore() as AdapterPlace | undefined;
}

export function inPlace<R>(place: AdapterPlace, body: () => R): R {
  return adapterContext.run(place, body);
}
