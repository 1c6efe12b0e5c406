import { describe, expect, it } from '@jest/globals';
import { apiKeyHash, apiKeyIdOf, isSameHash, newApiKey, ShownKeys } from './api-key.ts';

describe('API key', () => {
  it('consists of prefix, environment, id and secret, and always has the same length', () => {
    const { id, key } = newApiKey();
    expect(key).toMatch(new RegExp(`^agk_live_${id}_[0-9A-Za-z]{49}$`));
    expect(newApiKey('test').key).toMatch(/^agk_test_/);
  });

  it('contains its id', () => {
    const { id, key } = newApiKey();
    expect(apiKeyIdOf(key)).toBe(id);
  });

  it('is recognized as mistyped if any one character differs', () => {
    const { key } = newApiKey();
    for (let at = 'agk_live_'.length; at < key.length; at++) {
      const other = key[at] === 'a' ? 'b' : 'a';
      expect(apiKeyIdOf(key.slice(0, at) + other + key.slice(at + 1))).toBeNull();
    }
  });

  it.each(['', 'agk_', 'als_0123', 'agk_live_short_key', `${newApiKey().key}x`, ` ${newApiKey().key}`])(
    'is not %j',
    (text) => expect(apiKeyIdOf(text)).toBeNull(),
  );

  it('never repeats', () => {
    const made = Array.from({ length: 1_000 }, () => newApiKey());
    expect(new Set(made.map(({ key }) => key)).size).toBe(1_000);
    expect(new Set(made.map(({ id }) => id)).size).toBe(1_000);
  });

  it('matches only its own hash', () => {
    const { key } = newApiKey();
    expect(isSameHash(apiKeyHash(key), apiKeyHash(key))).toBe(true);
    expect(isSameHash(apiKeyHash(key), apiKeyHash(newApiKey().key))).toBe(false);
    expect(isSameHash(apiKeyHash(key), new Uint8Array(3))).toBe(false);
  });
});

describe('parsing keys', () => {
  it('returns the same result each time', () => {
    const shown = new ShownKeys();
    const [one, other] = [newApiKey(), newApiKey()];
    for (const { id, key } of [one, other, one, other]) {
      expect(shown.read(key)).toEqual({ keyId: id, hash: apiKeyHash(key) });
    }
  });

  it('returns null for an incomplete key, even next to a complete one', () => {
    const shown = new ShownKeys();
    const { key } = newApiKey();
    shown.read(key);
    expect(shown.read(key.slice(0, -1))).toBeNull();
  });
});
