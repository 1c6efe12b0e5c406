import { describe, expect, it } from '@jest/globals';
import { ExpiringMap } from './expiring-map.ts';

describe('expiring map', () => {
  it('does not answer what has ended', () => {
    let now = 0;
    const map = new ExpiringMap<string>(() => now);
    map.set('a', 'kept', 100);
    now = 99;
    expect(map.get('a')).toBe('kept');
    now = 100;
    expect(map.get('a')).toBeUndefined();
  });

  it('lets go of ended entries that nobody asks for', () => {
    let now = 0;
    const map = new ExpiringMap<number>(() => now);
    for (let index = 0; index < 1000; index++) map.set(`key-${index}`, index, 1000);
    now = 60_000;
    map.set('new', 1, 1000);
    expect(map.size).toBe(1);
  });
});
