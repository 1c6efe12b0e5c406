import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { RunningTotals } from './series-totals.ts';
import { quantileOf } from './sketch.ts';
import { NO_TOTALS, withValue } from './totals.ts';

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
