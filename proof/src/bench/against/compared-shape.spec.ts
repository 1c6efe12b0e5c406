import { describe, expect, it } from '@jest/globals';
import { type ComparedShape, describeComparison, isCheapEnough } from './compared-shape.ts';

const cost = (platformMicros: number) => ({
  ...{ platformMicros, serverMicros: 10, count: 1_000, perSecond: 1e6 / platformMicros },
  ...{ p50: platformMicros / 100, p99: platformMicros / 10, rssBytes: 200e6 },
});
const compared = (theirs: readonly number[], ours: readonly number[]): ComparedShape => ({
  shape: { name: 'events-3', unit: 'event' },
  ...{ theirs: theirs.map(cost), ours: ours.map(cost) },
});

describe('a comparison of two builds', () => {
  it('fails above 1.05 times the CPU', () => {
    expect(isCheapEnough(compared([100, 100, 100], [105, 105, 105]))).toBe(true);
    expect(isCheapEnough(compared([100, 100, 100], [106, 106, 106]))).toBe(false);
  });

  it('ignores one round on a busy machine, of either build', () => {
    expect(isCheapEnough(compared([100, 101, 99], [100, 300, 100]))).toBe(true);
    expect(isCheapEnough(compared([100, 400, 99], [120, 121, 119]))).toBe(false);
  });

  it('is shown as a table of ratios', () => {
    expect(describeComparison('v1.0.0', [compared([100], [50])])).toBe(
      [
        'This build : v1.0.0 (medians; CPU may be at most 1.05)',
        '| Load | CPU | CPU with Postgres | per second | p50 | p99 | peak RSS |',
        '|---|---|---|---|---|---|---|',
        '| events-3 | 0.50 | 0.55 | 2.00 | 0.50 | 0.50 | 1.00 |',
      ].join('\n'),
    );
  });
});
