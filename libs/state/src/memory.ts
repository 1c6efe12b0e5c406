/** The stores that need no server. */
export { createMemoryState, type MemoryState } from './memory/memory-state.ts';
