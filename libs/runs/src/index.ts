export { isAfter, placeOf } from './event-place.ts';
export { type FoldedEvent, readsPayload } from './folded-event.ts';
export { type DailyRollup, HEALTH_WEIGHTS, type HealthDimension, healthScore } from './health/health-score.ts';
export {
  baselineStart,
  type HealthWindow,
  healthWindow,
  windowBefore,
} from './health/health-window.ts';
export { type Ledger, ledgerOf } from './ledger.ts';
export { picoUsd, usdOf, usdText } from './money.ts';
export type { Registration } from './registration.ts';
export { durationMs, type RunRecord, statusOf } from './run.ts';
export type { RunActor } from './run-facts.ts';
export { outcomeOf, type RunStatus } from './run-status.ts';
export { type RunTotals, sumOfAll } from './run-totals.ts';
export { type AgentTally, GrowingTally, type Tally } from './tally.ts';
