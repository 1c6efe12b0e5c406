import type { ContextStore } from './runtime.ts';

/** The process-wide store with this name, regardless of which copy of the package created it. */
export function sharedContext(name: string, make: () => ContextStore): ContextStore {
  const shared = globalThis as { [key: symbol]: ContextStore | undefined };
  const key = Symbol.for(name);
  shared[key] ??= make();
  return shared[key];
}
