/** Entry point for stores of guardrail state; does not load the rules. */
export { CLOSED_BREAKER } from './breaker/index.ts';
export { MAX_PRINTS } from './flow/fingerprints.ts';
export { oncePer } from './once-per.ts';
export { cooling } from './ports/cooldown-store.ts';
export { firstCause, rootOf } from './ports/label-store.ts';
export { binOf, binsOf, greatestBins, MIN_QUANTILE } from './windows/sketch.ts';
export { NO_TOTALS } from './windows/totals.ts';
