import { describe, expect, it } from '@jest/globals';
import {
  baselineStart,
  type DailyRollup,
  HEALTH_WEIGHTS,
  type HealthDimension,
  healthScore,
  healthWindow,
  windowBefore,
} from './health.ts';

const now = Date.parse('2026-11-21T10:00:00.000Z');
const week = healthWindow(7, now);

function aDay(fields: Partial<DailyRollup> = {}): DailyRollup {
  return {
    day: '2026-11-21',
    toolCallCount: 0,
    toolErrorCount: 0,
    runCount: 10,
    runErrorCount: 0,
    runSucceededCount: 10,
    runDurationMs: 10_000,
    runCostUsd: 1,
    ...fields,
  };
}

const dimension = (rollups: readonly DailyRollup[], name: HealthDimension) =>
  healthScore(rollups, week)?.dimensions.find((found) => found.name === name);

describe('health window', () => {
  it('ends today', () => {
    expect(week).toEqual({ from: '2026-11-15', to: '2026-11-21' });
    expect(healthWindow(1, now)).toEqual({ from: '2026-11-21', to: '2026-11-21' });
  });

  it('is preceded by one of the same length and a baseline of thirty days', () => {
    expect(windowBefore(week)).toEqual({ from: '2026-11-08', to: '2026-11-14' });
    expect(baselineStart(week)).toBe('2026-10-16');
  });
});

describe('health score', () => {
  it('is null without runs in the window', () => {
    expect(healthScore([], week)).toBeNull();
    expect(healthScore([aDay({ day: '2026-11-14' })], week)).toBeNull();
    expect(healthScore([aDay({ day: '2026-11-22' })], week)).toBeNull();
  });

  it('is 100 for an agent without errors or a baseline', () => {
    expect(healthScore([aDay()], week)).toMatchObject({ score: 100, runCount: 10 });
  });

  it('weighs the dimensions as in the table', () => {
    const weights = Object.values(HEALTH_WEIGHTS).reduce((sum, weight) => sum + weight, 0);
    expect(weights).toBeCloseTo(1);
    const rollup = aDay({ runErrorCount: 5, runSucceededCount: 8, toolCallCount: 4, toolErrorCount: 1 });
    expect(healthScore([rollup], week)?.score).toBeCloseTo(0.3 * 50 + 0.2 * 100 + 0.2 * 75 + 0.15 * 100 + 0.15 * 80);
  });

  it('sums the days of the window in any order', () => {
    const days = [aDay({ day: '2026-11-15', runErrorCount: 10 }), aDay({ day: '2026-11-21' })];
    expect(dimension(days, 'error_rate')?.score).toBe(50);
    expect(healthScore(days.toReversed(), week)).toEqual(healthScore(days, week));
  });

  it.each([
    [2, 0, 50],
    [1.5, 50, 75],
    [0.5, 100, 100],
    [3.5, 0, 0],
  ])('compares with the thirty days before: factor %d', (times, costScore, latencyScore) => {
    const before = aDay({ day: '2026-11-10' });
    const today = aDay({ runCostUsd: times, runDurationMs: 10_000 * times });
    expect(dimension([before, today], 'cost_efficiency')?.score).toBe(costScore);
    expect(dimension([before, today], 'latency')?.score).toBe(latencyScore);
  });

  it('ignores days before the baseline', () => {
    const days = [aDay({ day: '2026-10-15', runCostUsd: 0.01 }), aDay()];
    expect(dimension(days, 'cost_efficiency')).toMatchObject({ score: 100, rawValue: null });
  });

  it('stays between 0 and 100 for any counts', () => {
    const odd = aDay({ toolCallCount: 1, toolErrorCount: 5, runErrorCount: 20, runSucceededCount: 20 });
    for (const { score } of healthScore([odd], week)?.dimensions ?? []) {
      expect(score).toBeGreaterThanOrEqual(0);
      expect(score).toBeLessThanOrEqual(100);
    }
  });
});
