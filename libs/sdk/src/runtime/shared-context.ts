import type { ContextStore } from './runtime.ts';

/** The store of this name in the process, whichever copy of the package made it. */
export function sharedContext(name: string, make: () => ContextStore): ContextStore {
  const shared = globalThis as { [key: symbol]: ContextStore | undefined };
  const key = Symbol.for(name);
  shared[key] ??= make();
  return shared[key];
}
