import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { BoundedMap } from './bounded-map.ts';

describe('a map of at most so many entries', () => {
  it('holds what was set last, and nothing else', () => {
    fc.assert(
      fc.property(fc.array(fc.nat({ max: 12 })), fc.integer({ min: 1, max: 6 }), (keys, most) => {
        const map = new BoundedMap<number>(most);
        for (const [at, key] of keys.entries()) map.set(`${key}`, at);
        const last = new Map<number, number>();
        for (const [at, key] of keys.entries()) {
          last.delete(key);
          last.set(key, at);
        }
        const kept = [...last].slice(-most);
        expect(map.size).toBe(kept.length);
        for (const [key, at] of kept) expect(map.get(`${key}`)).toBe(at);
      }),
    );
  });

  it('lets go of what is deleted', () => {
    const map = new BoundedMap<string>(2);
    map.set('a', 'x');
    map.delete('a');
    expect([map.has('a'), map.get('a'), map.size]).toEqual([false, undefined, 0]);
  });
});
