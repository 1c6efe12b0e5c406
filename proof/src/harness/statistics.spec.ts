import { describe, expect, it } from '@jest/globals';
import { Latencies, quantile } from './statistics.ts';

describe('a quantile', () => {
  it('is the value below which the given share lies, for any order of values', () => {
    const hundred = Array.from({ length: 100 }, (_, i) => (i * 37) % 100);
    expect([0, 0.5, 0.99, 1].map((q) => quantile(hundred, q))).toEqual([0, 50, 99, 99]);
  });

  it('is the value itself for a single value, and NaN for none', () => {
    expect(quantile([7], 0.99)).toBe(7);
    expect(quantile([], 0.99)).toBeNaN();
  });
});

describe('latencies', () => {
  it('returns quantiles within one percent', () => {
    const latencies = new Latencies();
    for (let ms = 1; ms <= 1_000; ms++) latencies.record(ms * 1_000);
    const { p50, p95, p99, max, count } = latencies.summary();
    expect(Math.abs(p50 / 500 - 1)).toBeLessThan(0.011);
    expect(Math.abs(p95 / 950 - 1)).toBeLessThan(0.011);
    expect(Math.abs(p99 / 990 - 1)).toBeLessThan(0.011);
    expect([max, count]).toEqual([1_000, 1_000]);
  });

  it('returns NaN without values', () => expect(new Latencies().summary().p50).toBeNaN());
});
