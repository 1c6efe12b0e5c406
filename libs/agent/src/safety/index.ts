export { type PatternFilterOptions, patternFilter, redactionFilter } from './content-filter.ts';
export { type Inspected, SafetyLayer, type SafetyRecord } from './safety-layer.ts';
export type { FilterAnswer, RateLimit, SafetyFilter, SafetyPolicy } from './safety-policy.ts';
export { RateLimiter, SAFETY_PHASES, type SafetyPhase, type SafetyWhere } from './safety-policy.ts';
