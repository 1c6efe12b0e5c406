import { describe, expect, it } from '@jest/globals';
import { KeyUses } from './key-uses.ts';

describe('KeyUses', () => {
  it('tells the first use of a key, and then at most one a minute', () => {
    const uses = new KeyUses();
    expect(uses.isNews('a', 0)).toBe(true);
    expect(uses.isNews('a', 59_999)).toBe(false);
    expect(uses.isNews('b', 59_999)).toBe(true);
    expect(uses.isNews('a', 60_000)).toBe(true);
  });
});
