import { describe, expect, it } from '@jest/globals';
import type { LoadReport } from '../harness/generate-load.ts';
import { loadChecks, untilSteady } from './measure-load.ts';
import type { FigureCheck } from './scenario.ts';

const latency = { count: 3, p50: 1, p95: 1, p99: 1, max: 1 };
const report: LoadReport = {
  ...{ seconds: 1, requests: 4, statuses: { 201: 3, 429: 1 }, latency, refusedLatency: latency },
  ...{ longestStallMs: 1, cpuMicros: 1, acceptedEvents: 30, acceptedErrors: 2, markers: { 0: 10 } },
};
const record = { rows: 30, counted: 30, countedInRuns: 30, countedErrors: 2, triggers: 1, evaluated: 30 };
const wrong = (checks: readonly FigureCheck[]) =>
  checks.filter(({ expected, actual }) => expected !== actual).map(({ name }) => name);

describe('the checks of a load', () => {
  it('pass if everything that was accepted was recorded', () => {
    expect(wrong(loadChecks(report, record))).toEqual([]);
  });

  it.each([
    ['rows', 'rows stored'],
    ['counted', 'events counted by agent'],
    ['countedInRuns', 'events counted by run'],
    ['countedErrors', 'errors counted by agent'],
    ['triggers', 'triggers recorded'],
    ['evaluated', 'events evaluated'],
  ] as const)('report %s that are one too few or too many', (what, name) => {
    for (const off of [-1, 1])
      expect(wrong(loadChecks(report, { ...record, [what]: record[what] + off }))).toEqual([name]);
  });

  it('fail for a load of which nothing was accepted', () => {
    const nothing = { ...report, acceptedEvents: 0, acceptedErrors: 0, markers: {}, statuses: { 503: 4 } };
    const empty = { rows: 0, counted: 0, countedInRuns: 0, countedErrors: 0, triggers: 0, evaluated: 0 };
    expect(wrong(loadChecks(nothing, empty))).toEqual(['loads of which something was accepted']);
  });
});

const MAX_SLICES = 6;

describe('a warm-up', () => {
  it.each([
    ['two slices happen to cost the same', [200, 100, 100]],
    ['each slice is slightly cheaper than the previous one', [150, 144, 138]],
    ['the last slice was disturbed', [100, 100, 130]],
  ])('continues while %s', async (_, costs) => {
    expect(await slicesTaken(costs)).toBeGreaterThan(costs.length);
  });

  it('ends when three consecutive slices cost the same', async () => {
    expect(await slicesTaken([300, 180, 104, 100, 101])).toBe(5);
  });

  it('ends after the maximum number of slices if they never do', async () => {
    expect(await slicesTaken([100, 200, 100, 200, 100, 200, 100])).toBe(MAX_SLICES);
  });
});

/** Slices with these costs; each later one costs twice the previous one. */
async function slicesTaken(costs: readonly number[]): Promise<number> {
  let taken = 0;
  await untilSteady(MAX_SLICES, async (before) => {
    expect(before).toHaveLength(taken);
    taken += 1;
    return costs[before.length] ?? 2 * (before.at(-1) ?? 1);
  });
  return taken;
}
