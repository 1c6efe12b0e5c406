import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { BoundedMap, ExpiringMap, RecentMap } from './evicting-maps.ts';

describe('BoundedMap', () => {
  it('keeps the entries that were set last', () => {
    fc.assert(
      fc.property(fc.array(fc.nat({ max: 12 })), fc.integer({ min: 1, max: 6 }), (keys, maxSize) => {
        const map = new BoundedMap<number>(maxSize);
        for (const [at, key] of keys.entries()) map.set(`${key}`, at);
        const last = new Map<number, number>();
        for (const [at, key] of keys.entries()) {
          last.delete(key);
          last.set(key, at);
        }
        const kept = [...last].slice(-maxSize);
        expect(map.size).toBe(kept.length);
        for (const [key, at] of kept) expect(map.get(`${key}`)).toBe(at);
      }),
    );
  });

  it('removes deleted entries', () => {
    const map = new BoundedMap<string>(2);
    map.set('a', 'x');
    map.delete('a');
    expect([map.has('a'), map.get('a'), map.size]).toEqual([false, undefined, 0]);
  });
});

const LIMITS = { ttlMs: 1_000, maxEntries: 10 };

describe('RecentMap', () => {
  it('keeps at least the newest half of its capacity and never exceeds it', () => {
    fc.assert(
      fc.property(fc.array(fc.nat({ max: 30 })), (keys) => {
        const map = new RecentMap<number>(() => 0, LIMITS);
        for (const [at, key] of keys.entries()) {
          map.set(`${key}`, at);
          expect(map.size).toBeLessThanOrEqual(LIMITS.maxEntries);
        }
        const last = new Map(keys.map((key, at) => [`${key}`, at]));
        for (const [key, at] of [...last].filter(([, at]) => at >= keys.length - LIMITS.maxEntries / 2)) {
          expect(map.get(key)).toBe(at);
        }
      }),
    );
  });

  it('keeps an entry for its TTL and drops it before twice the TTL', () => {
    fc.assert(
      fc.property(fc.nat({ max: 5_000 }), fc.array(fc.integer({ min: 1, max: 700 })), (start, steps) => {
        let now = 0;
        const map = new RecentMap<string>(() => now, { ...LIMITS, maxEntries: 1_000 });
        now = start;
        map.set('first', 'here');
        for (const step of steps) {
          now += step;
          const age = now - start;
          const found = map.get('first');
          if (age < LIMITS.ttlMs) expect(found).toBe('here');
          if (age >= 2 * LIMITS.ttlMs) expect(found).toBeUndefined();
        }
      }),
    );
  });
});

describe('expiring map', () => {
  it('does not return expired entries', () => {
    let now = 0;
    const map = new ExpiringMap<string>(() => now);
    map.set('a', 'kept', 100);
    now = 99;
    expect(map.get('a')).toBe('kept');
    now = 100;
    expect(map.get('a')).toBeUndefined();
  });

  it('evicts expired entries that are never read', () => {
    let now = 0;
    const map = new ExpiringMap<number>(() => now);
    for (let index = 0; index < 1000; index++) map.set(`key-${index}`, index, 1000);
    now = 60_000;
    map.set('new', 1, 1000);
    expect(map.size).toBe(1);
  });
});
