import { DAY_MS } from '@agentlens/contracts';

/** Length of the period before the window that defines the usual cost and duration. */
const BASELINE_DAYS = 30;

/** Scored range of UTC days (`2026-11-21`), both inclusive. */
export interface HealthWindow {
  readonly from: string;
  readonly to: string;
}

/** The last `days` days, including today. */
export function healthWindow(days: number, nowMs: number): HealthWindow {
  return { from: dayOf(nowMs - (days - 1) * DAY_MS), to: dayOf(nowMs) };
}

/** Window of the same length that ends the day before. */
export function windowBefore(window: HealthWindow): HealthWindow {
  const length = Date.parse(window.to) - Date.parse(window.from);
  const to = Date.parse(window.from) - DAY_MS;
  return { from: dayOf(to - length), to: dayOf(to) };
}

/** First day whose totals are needed to score this window. */
export function baselineStart(window: HealthWindow): string {
  return dayOf(Date.parse(window.from) - BASELINE_DAYS * DAY_MS);
}

function dayOf(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10);
}

/** Totals of one agent and UTC day from `agent_daily`; run_* by the day the run started. */
export interface DailyRollup {
  readonly day: string;
  readonly toolCallCount: number;
  readonly toolErrorCount: number;
  readonly runCount: number;
  /** Runs with at least one error. */
  readonly runErrorCount: number;
  readonly runSucceededCount: number;
  readonly runDurationMs: number;
  readonly runCostUsd: number;
}

export type HealthDimension = 'error_rate' | 'cost_efficiency' | 'tool_success' | 'latency' | 'completion_rate';

/** Weight of each dimension; the sum is 1. */
type HealthWeights = Readonly<Record<HealthDimension, number>>;

export const HEALTH_WEIGHTS: HealthWeights = {
  error_rate: 0.3,
  cost_efficiency: 0.2,
  tool_success: 0.2,
  latency: 0.15,
  completion_rate: 0.15,
};

interface DimensionScore {
  readonly name: HealthDimension;
  /** 0 to 100. */
  readonly score: number;
  readonly weight: number;
  /** Measured value; null if there is nothing to measure or compare with, which scores 100. */
  readonly rawValue: number | null;
  readonly description: string;
}

interface HealthScore {
  /** 0 to 100, two decimals. */
  readonly score: number;
  readonly dimensions: readonly DimensionScore[];
  readonly runCount: number;
}

type Totals = Omit<DailyRollup, 'day'>;
type Measured = Pick<DimensionScore, 'score' | 'rawValue' | 'description'>;

/**
 * Health of one agent in a window, compared with the 30 days before. Null without a run in the window, because no data
 * is neither healthy nor unhealthy. `rollups` may contain any days in any order.
 */
export function healthScore(
  rollups: readonly DailyRollup[],
  window: HealthWindow,
  weights: HealthWeights = HEALTH_WEIGHTS,
): HealthScore | null {
  const now = totalsOf(rollups.filter(({ day }) => day >= window.from && day <= window.to));
  if (now.runCount === 0) return null;
  const start = baselineStart(window);
  const usual = totalsOf(rollups.filter(({ day }) => day >= start && day < window.from));
  const measured: Record<HealthDimension, Measured> = {
    error_rate: errorRate(now),
    cost_efficiency: costEfficiency(now, usual),
    tool_success: toolSuccess(now),
    latency: latency(now, usual),
    completion_rate: completion(now),
  };
  const dimensions = (Object.keys(measured) as HealthDimension[]).map((name) => ({
    name,
    weight: weights[name],
    ...measured[name],
  }));
  const score = dimensions.reduce((sum, dimension) => sum + dimension.weight * dimension.score, 0);
  return { score: rounded(score), dimensions, runCount: now.runCount };
}

function errorRate(now: Totals): Measured {
  const share = now.runErrorCount / now.runCount;
  return { score: clamped(100 * (1 - share)), rawValue: share, description: 'Share of runs with an error' };
}

function costEfficiency(now: Totals, usual: Totals): Measured {
  const change = relativeChange(now.runCostUsd / now.runCount, usual.runCostUsd / usual.runCount);
  const description = 'Change of the average cost of a run compared with the 30 days before';
  return { score: change === null ? 100 : clamped(100 - change * 100), rawValue: change, description };
}

function toolSuccess(now: Totals): Measured {
  const description = 'Share of tool calls that succeeded';
  if (now.toolCallCount === 0) return { score: 100, rawValue: null, description };
  // A late result may count as a failure of the previous day, so there may be more failures than calls; do not go below
  // zero.
  const share = Math.max(0, now.toolCallCount - now.toolErrorCount) / now.toolCallCount;
  return { score: clamped(100 * share), rawValue: share, description };
}

function latency(now: Totals, usual: Totals): Measured {
  const change = relativeChange(now.runDurationMs / now.runCount, usual.runDurationMs / usual.runCount);
  const description = 'Change of the average duration of a run compared with the 30 days before';
  return { score: change === null ? 100 : clamped(100 - change * 50), rawValue: change, description };
}

function completion(now: Totals): Measured {
  const share = now.runSucceededCount / now.runCount;
  return { score: clamped(100 * share), rawValue: share, description: 'Share of runs that succeeded' };
}

/** Relative change: 0.5 means half as much again. Null without a baseline. */
function relativeChange(value: number, usual: number): number | null {
  return Number.isFinite(usual) && usual > 0 ? value / usual - 1 : null;
}

function totalsOf(rollups: readonly DailyRollup[]): Totals {
  const sum = (of: (rollup: DailyRollup) => number) => rollups.reduce((total, rollup) => total + of(rollup), 0);
  return {
    toolCallCount: sum((rollup) => rollup.toolCallCount),
    toolErrorCount: sum((rollup) => rollup.toolErrorCount),
    runCount: sum((rollup) => rollup.runCount),
    runErrorCount: sum((rollup) => rollup.runErrorCount),
    runSucceededCount: sum((rollup) => rollup.runSucceededCount),
    runDurationMs: sum((rollup) => rollup.runDurationMs),
    runCostUsd: sum((rollup) => rollup.runCostUsd),
  };
}

function clamped(score: number): number {
  return rounded(Math.min(100, Math.max(0, score)));
}

function rounded(score: number): number {
  return Math.round(score * 100) / 100;
}
