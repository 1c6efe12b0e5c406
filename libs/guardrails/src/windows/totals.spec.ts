import { describe, expect, it } from '@jest/globals';
import { spans } from './span.ts';
import { NO_TOTALS, withValue } from './totals.ts';

describe('withValue', () => {
  it('keeps the aggregates of the shape', () => {
    expect(withValue(NO_TOTALS, 'sum', 1, 5)).toEqual({ ...NO_TOTALS, count: 1, sum: 5 });
    const spread = [5, -2, 3].reduce((totals, value, i) => withValue(totals, 'spread', i, value), NO_TOTALS);
    expect(spread).toEqual({ count: 3, sum: 6, min: -2, max: 5, last: { atMs: 2, value: 3 }, bins: [] });
    expect(withValue(withValue(NO_TOTALS, 'quantiles', 1, 0), 'quantiles', 1, 0).bins).toEqual([{ bin: 0, count: 2 }]);
  });

  it('keeps the newest value as the last, or the larger of equally new ones, in any order', () => {
    const last = (...values: [number, number][]) =>
      values.reduce((totals, [atMs, value]) => withValue(totals, 'spread', atMs, value), NO_TOTALS).last?.value;
    expect(last([2, 1], [1, 2])).toBe(1);
    expect(last([1, 1], [1, 2])).toBe(2);
    expect(last([1, 2], [1, 1])).toBe(2);
    expect(last([1, -3], [1, -2], [1, -4])).toBe(-2);
  });
});

describe('spans', () => {
  const minute = { kind: 'sliding', minutes: 1 } as const;

  it('is true for the current bucket and the 59 before it', () => {
    const now = 3_600_500;
    expect([now, 3_541_000, 3_540_999, now + 1000].map((at) => spans(minute, at, now))).toEqual([
      true,
      true,
      false,
      false,
    ]);
  });

  it('is always true for a run or a day', () => {
    expect(spans({ kind: 'run', runId: 'r' }, 0, 9e12)).toBe(true);
    expect(spans({ kind: 'day', day: '2026-03-01' }, 0, 9e12)).toBe(true);
  });
});
