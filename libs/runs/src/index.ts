export { isAfter, placeOf } from './event-place.ts';
export {
  type DailyRollup,
  type DimensionScore,
  HEALTH_WEIGHTS,
  type HealthDimension,
  type HealthScore,
  type HealthWeights,
  healthScore,
} from './health/health-score.ts';
export {
  BASELINE_DAYS,
  baselineStart,
  type HealthWindow,
  healthWindow,
  windowBefore,
} from './health/health-window.ts';
export { type Agent, type AgentDay, isCompletedRun, isFailedRun, type Ledger, ledgerOf } from './ledger.ts';
export { microUsd, usdOf } from './money.ts';
export { durationMs, MAX_RUN_TAGS, type Run, type RunTotals, statusOf, withEvent } from './run.ts';
export { outcomeOf, type RunStatus } from './run-status.ts';
