export { isAfter, placeOf } from './event-place.ts';
export { type DailyRollup, type RollupSums, sumRollups } from './health/daily-rollup.ts';
export { DEFAULT_WEIGHTS, DIMENSION_NAMES, type DimensionName, type HealthWeights } from './health/dimensions.ts';
export {
  BASELINE_DAYS,
  baselineOf,
  type HealthDimension,
  type HealthScore,
  type HealthWindow,
  healthScore,
  healthTrend,
  healthWindow,
} from './health/health-score.ts';
export { type Agent, type AgentDay, isCompletedRun, isFailedRun, type Ledger, ledgerOf } from './ledger.ts';
export { microUsd, usdOf } from './money.ts';
export { durationMs, MAX_RUN_TAGS, type Run, type RunTotals, statusOf, withEvent } from './run.ts';
export { outcomeOf, type RunStatus } from './run-status.ts';
