import { describe, expect, it } from '@jest/globals';
import { type DailyRollup, HEALTH_WEIGHTS, type HealthDimension, healthScore } from './health-score.ts';
import { baselineStart, healthWindow, windowBefore } from './health-window.ts';

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
  it('is that many UTC days back, today included', () => {
    const window = healthWindow(7, Date.parse('2026-03-07T23:59:59.999Z'));
    expect(window).toEqual(WINDOW);
    expect(windowBefore(window)).toEqual({ from: '2026-02-22', to: '2026-02-28' });
    expect(baselineStart(window)).toBe('2026-01-30');
  });
});
