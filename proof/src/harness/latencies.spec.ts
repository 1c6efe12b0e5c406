import { describe, expect, it } from '@jest/globals';
import { Latencies } from './latencies.ts';

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
