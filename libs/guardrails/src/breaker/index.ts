export {
  type Breaker,
  type CallUsage,
  CLOSED_BREAKER,
  check,
  type NextCall,
  overLimit,
  record,
  trip,
} from './breaker.ts';
export { confidenceFall } from './confidence-fall.ts';
export { DEFAULT_BREAKER_LIMITS, LIMIT_OF_REASON, NO_BREAKER_LIMITS } from './default-limits.ts';
export { usageOfEvent, usageOfQuestion } from './reported-usage.ts';
export { joinTrees, type RunLine } from './trees.ts';
