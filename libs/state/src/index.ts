export { BoundedMap, RecentMap } from './memory/evicting-maps.ts';
export { createMemoryState, type MemoryState } from './memory/memory-state.ts';
export type { Quota, QuotaAnswer } from './quota.ts';
export { type Bucket, takeFrom } from './quota.ts';
export type { RedisStateOptions } from './redis/connection.ts';
export { connectRedisState } from './redis/redis-state.ts';
export { SingleFlight } from './single-flight.ts';
export type {
  CountedTreeLimits,
  IdempotencyStore,
  IdempotentRequest,
  Instance,
  OnceRequest,
  Presence,
  ReachedTreeLimit,
  RunContext,
  RunContexts,
  RunTrees,
  StateStores,
  TreeMember,
} from './state-stores.ts';
export { type EvaluatedMessage, type EvaluationTally, minuteOf, StateUnavailable } from './state-stores.ts';
