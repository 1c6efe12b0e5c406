import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { RecentMap } from './recent-map.ts';

const LIMITS = { ttlMs: 1_000, most: 10 };

describe('a map of what came lately', () => {
  it('holds the newest half of what it may hold, and never more', () => {
    fc.assert(
      fc.property(fc.array(fc.nat({ max: 30 })), (keys) => {
        const map = new RecentMap<number>(() => 0, LIMITS);
        for (const [at, key] of keys.entries()) {
          map.set(`${key}`, at);
          expect(map.size).toBeLessThanOrEqual(LIMITS.most);
        }
        const last = new Map(keys.map((key, at) => [`${key}`, at]));
        for (const [key, at] of [...last].filter(([, at]) => at >= keys.length - LIMITS.most / 2)) {
          expect(map.get(key)).toBe(at);
        }
      }),
    );
  });

  it('knows an entry for its time, and not for twice as long', () => {
    fc.assert(
      fc.property(fc.nat({ max: 5_000 }), fc.array(fc.integer({ min: 1, max: 700 })), (start, steps) => {
        let now = 0;
        const map = new RecentMap<string>(() => now, { ...LIMITS, most: 1_000 });
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
