export { type FoldedEvent, isAfter, placeOf, readsPayload } from './folded-event.ts';
export {
  baselineStart,
  type DailyRollup,
  HEALTH_WEIGHTS,
  type HealthDimension,
  type HealthWindow,
  healthScore,
  healthWindow,
  windowBefore,
} from './health.ts';
export { type Ledger, ledgerOf } from './ledger.ts';
export { durationMs, type RunRecord, statusOf } from './run.ts';
export type { RunActor } from './run-facts.ts';
export { outcomeOf, type RunStatus } from './run-facts.ts';
export { LATENCY_BOUNDS_MS, latencyAt, picoUsd, type RunTotals, sumOfAll, usdOf, usdText } from './run-totals.ts';
export type { Registration } from './tally.ts';
export { type AgentTally, GrowingTally, type Tally } from './tally.ts';
