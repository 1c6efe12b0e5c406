export type { IdempotencyStore, IdempotentRequest } from './idempotency-store.ts';
export { createMemoryState, type MemoryStateOptions } from './memory/memory-state.ts';
export type { Instance, Presence } from './presence.ts';
export type { Quota, QuotaAnswer } from './quota.ts';
export type { RedisStateOptions } from './redis/connection.ts';
export { connectRedisState } from './redis/redis-state.ts';
export type { RunContext, RunContexts } from './run-contexts.ts';
export type { StateStores } from './state-stores.ts';
export { StateUnavailable } from './state-unavailable.ts';
