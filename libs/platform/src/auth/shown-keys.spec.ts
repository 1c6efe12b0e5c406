import { describe, expect, it } from '@jest/globals';
import { apiKeyHash, newApiKey } from './api-key.ts';
import { ShownKeys } from './shown-keys.ts';

describe('keys that are shown', () => {
  it('are read alike each time', () => {
    const shown = new ShownKeys();
    const [one, other] = [newApiKey(), newApiKey()];
    for (const { id, key } of [one, other, one, other]) {
      expect(shown.read(key)).toEqual({ keyId: id, hash: apiKeyHash(key) });
    }
  });

  it('say nothing where they are not complete, also beside one that is', () => {
    const shown = new ShownKeys();
    const { key } = newApiKey();
    shown.read(key);
    expect(shown.read(key.slice(0, -1))).toBeNull();
  });
});
