import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { LATENCY_BOUNDS_MS, latencyAt } from './run-totals.ts';

const histogramOf = (latencies: readonly number[]) => {
  const counts = Array.from({ length: LATENCY_BOUNDS_MS.length + 1 }, () => 0);
  for (const ms of latencies) {
    const index = LATENCY_BOUNDS_MS.findIndex((bound) => ms <= bound);
    counts[index === -1 ? counts.length - 1 : index] = (counts[index === -1 ? counts.length - 1 : index] ?? 0) + 1;
  }
  return counts;
};

describe('latency histogram', () => {
  it('has no percentile without decisions', () => {
    expect(latencyAt(0.5, [])).toBeNull();
    expect(latencyAt(0.5, [0, 0])).toBeNull();
  });

  it('gives a percentile from the bucket that holds the exact one', () => {
    fc.assert(
      fc.property(
        fc.array(fc.double({ min: 0, max: 7_999, noNaN: true }), { minLength: 1, maxLength: 200 }),
        fc.constantFrom(0.5, 0.9, 0.99, 1),
        (latencies, share) => {
          const sorted = latencies.toSorted((a, b) => a - b);
          const exact = sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? 0;
          const index = LATENCY_BOUNDS_MS.findIndex((bound) => exact <= bound);
          const found = latencyAt(share, histogramOf(latencies)) ?? -1;
          expect(found).toBeGreaterThanOrEqual(LATENCY_BOUNDS_MS[index - 1] ?? 0);
          expect(found).toBeLessThanOrEqual(LATENCY_BOUNDS_MS[index] ?? 0);
        },
      ),
    );
  });

  it('counts what exceeds the last bound as that bound', () => {
    expect(latencyAt(0.99, histogramOf([60_000]))).toBe(8_000);
  });
});
