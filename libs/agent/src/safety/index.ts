export { type PatternFilterOptions, patternFilter, redactionFilter } from './content-filter.ts';
export { SAFETY_PHASES, type SafetyPhase, type SafetyWhere } from './phases.ts';
export { RateLimiter } from './rate-limit.ts';
export { type Inspected, SafetyLayer, type SafetyRecord } from './safety-layer.ts';
export type { FilterAnswer, RateLimit, SafetyFilter, SafetyPolicy } from './safety-policy.ts';
