import { describe, expect, it } from '@jest/globals';
import { TenantRates } from './fair-share.ts';

describe('TenantRates', () => {
  it('approaches the rate of each tenant, for any time between two readings', () => {
    const rates = new TenantRates();
    for (const sinceLastMs of Array.from({ length: 40 }, (_, i) => (i % 2 === 0 ? 250 : 1_000))) {
      rates.add('loud', (8_000 * sinceLastMs) / 1_000);
      rates.add('quiet', (4 * sinceLastMs) / 2_000);
      rates.add('quiet', (4 * sinceLastMs) / 2_000);
      rates.measure(sinceLastMs);
    }
    expect(rates.perSecond.get('loud')).toBeCloseTo(8_000, 0);
    expect(rates.perSecond.get('quiet')).toBeCloseTo(4, 3);
  });

  it('moves only by a part of one reading', () => {
    const rates = new TenantRates();
    rates.add('acme', 1_000);
    rates.measure(1_000);
    expect(rates.perSecond.get('acme')).toBeCloseTo(300);
    rates.measure(1_000);
    expect(rates.perSecond.get('acme')).toBeCloseTo(210);
  });

  it('forgets tenants that have stopped sending', () => {
    const rates = new TenantRates();
    rates.add('acme', 1_000);
    for (let second = 0; second < 30; second++) rates.measure(1_000);
    expect([...rates.perSecond.keys()]).toEqual([]);
  });
});
