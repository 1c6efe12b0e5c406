import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { quantileOf } from './sketch.ts';
import { spans } from './span.ts';
import { NO_TOTALS, RunningTotals, withValue } from './totals.ts';

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

const added = fc.record({
  atMs: fc.integer({ min: -2, max: 2 }),
  value: fc.double({ noNaN: true, noDefaultInfinity: true }),
});

describe('running totals', () => {
  it('equal plain totals after each value', () => {
    fc.assert(
      fc.property(
        fc.constantFrom('sum', 'spread', 'quantiles'),
        fc.array(added),
        fc.array(added),
        (shape, before, come) => {
          const start = before.reduce((totals, { atMs, value }) => withValue(totals, shape, atMs, value), NO_TOTALS);
          const running = new RunningTotals(start);
          let plain = start;
          for (const { atMs, value } of come) {
            running.add(shape, atMs, value);
            plain = withValue(plain, shape, atMs, value);
            const { count, sum, min, max, last } = running;
            expect({ count, sum, min, max, last }).toEqual({
              count: plain.count,
              sum: plain.sum,
              min: plain.min,
              max: plain.max,
              last: plain.last?.value ?? null,
            });
            expect(running.quantile(0.95)).toBe(quantileOf(plain.bins, 0.95));
          }
        },
      ),
    );
  });

  it('do not change the totals they start from', () => {
    const start = withValue(NO_TOTALS, 'quantiles', 1, 5);
    const kept = structuredClone(start);
    new RunningTotals(start).add('quantiles', 2, 7);
    expect(start).toEqual(kept);
  });
});
