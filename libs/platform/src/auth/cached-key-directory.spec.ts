import { fixedClock } from '@agentlens/testing';
import { beforeEach, describe, expect, it, jest } from '@jest/globals';
import { apiKeyHash, newApiKey } from './api-key.ts';
import { CachedKeyDirectory, type KeyRecord, KeyUses } from './cached-key-directory.ts';

describe('key directory', () => {
  const { id, key } = newApiKey();
  let rows: Map<string, KeyRecord>;
  let reads: number;
  let away: boolean;
  let clock: ReturnType<typeof fixedClock>;
  let directory: CachedKeyDirectory;

  beforeEach(() => {
    rows = new Map([[id, record({})]]);
    reads = 0;
    away = false;
    clock = fixedClock('2026-01-01T00:00:00.000Z');
    directory = new CachedKeyDirectory({
      clock,
      defaultEventsPerSecond: 500,
      read: async (keyIds) => {
        reads++;
        if (away) throw new Error('away');
        return keyIds.flatMap((keyId) => rows.get(keyId) ?? []);
      },
    });
  });

  function record(change: Partial<KeyRecord>): KeyRecord {
    return {
      tenantId: 'acme',
      keyId: id,
      secretHash: apiKeyHash(key),
      scopes: ['read', 'nonsense'],
      agents: null,
      eventsPerSecond: null,
      expiresAtMs: null,
      revokedAtMs: null,
      ...change,
    };
  }

  it('returns the tenant, known scopes and the default quota', async () => {
    expect(await directory.check(key)).toEqual({
      kind: 'accepted',
      caller: { tenantId: 'acme', keyId: id, scopes: ['read'], eventsPerSecond: 500 },
    });
  });

  it('returns the agents that a key is bound to', async () => {
    rows.set(id, record({ agents: ['bot'] }));
    expect(await directory.check(key)).toMatchObject({ kind: 'accepted', caller: { agents: ['bot'] } });
  });

  it('rejects a mistyped key without a lookup', async () => {
    expect(await directory.check(`${key.slice(0, -1)}_`)).toEqual({ kind: 'refused', reason: 'malformed' });
    expect(reads).toBe(0);
  });

  it('rejects a known id with a wrong secret', async () => {
    rows.set(id, record({ secretHash: apiKeyHash(newApiKey().key) }));
    expect(await directory.check(key)).toEqual({ kind: 'refused', reason: 'unknown' });
  });

  it('reads once for concurrent checks', async () => {
    await Promise.all(Array.from({ length: 20 }, () => directory.check(key)));
    await directory.check(key);
    expect(reads).toBe(1);
  });

  it('notices a revocation within 4 s without a notification', async () => {
    await directory.check(key);
    rows.set(id, record({ revokedAtMs: clock.now() }));
    clock.advance(3_999);
    expect((await directory.check(key)).kind).toBe('accepted');
    clock.advance(1);
    expect(await directory.check(key)).toEqual({ kind: 'refused', reason: 'revoked' });
  });

  it('refreshes a key in use before a caller has to wait for it', async () => {
    jest.useFakeTimers({ doNotFake: ['performance'] });
    try {
      await directory.check(key);
      clock.advance(2_000);
      await directory.check(key);
      rows.set(id, record({ revokedAtMs: clock.now() }));
      await jest.advanceTimersByTimeAsync(250);
      expect(reads).toBe(2);
      expect(await directory.check(key)).toEqual({ kind: 'refused', reason: 'revoked' });
    } finally {
      jest.useRealTimers();
    }
  });

  it('notices a revocation at once after a notification', async () => {
    await directory.check(key);
    rows.set(id, record({ revokedAtMs: clock.now() }));
    directory.forget(id);
    expect(await directory.check(key)).toEqual({ kind: 'refused', reason: 'revoked' });
  });

  it('rejects a key from the instant it expires', async () => {
    rows.set(id, record({ expiresAtMs: clock.now() + 1_000 }));
    expect((await directory.check(key)).kind).toBe('accepted');
    clock.advance(1_000);
    expect(await directory.check(key)).toEqual({ kind: 'refused', reason: 'expired' });
  });

  it('accepts a cached key for five minutes while keys cannot be read, then returns unavailable', async () => {
    await directory.check(key);
    away = true;
    clock.advance(5 * 60_000 - 1);
    expect((await directory.check(key)).kind).toBe('accepted');
    clock.advance(1);
    expect(await directory.check(key)).toEqual({ kind: 'unavailable' });
  });

  it('returns unavailable for an uncached key while keys cannot be read', async () => {
    away = true;
    expect(await directory.check(newApiKey().key)).toEqual({ kind: 'unavailable' });
  });

  it('does not cache absence while keys cannot be read', async () => {
    rows.clear();
    expect(await directory.check(key)).toEqual({ kind: 'refused', reason: 'unknown' });
    away = true;
    clock.advance(4_000);
    expect(await directory.check(key)).toEqual({ kind: 'unavailable' });
  });

  it('queries an unavailable database at most once a second', async () => {
    away = true;
    for (let i = 0; i < 10; i++) await directory.check(newApiKey().key);
    expect(reads).toBe(1);
    clock.advance(1_000);
    away = false;
    expect((await directory.check(key)).kind).toBe('accepted');
  });

  it('reads again after the clock went backwards', async () => {
    await directory.check(key);
    rows.set(id, record({ revokedAtMs: clock.now() }));
    clock.advance(-60_000);
    expect((await directory.check(key)).kind).toBe('refused');
  });
});

describe('KeyUses', () => {
  it('reports the first use of a key, and then at most one a minute', () => {
    const uses = new KeyUses();
    expect(uses.isNews('a', 0)).toBe(true);
    expect(uses.isNews('a', 59_999)).toBe(false);
    expect(uses.isNews('b', 59_999)).toBe(true);
    expect(uses.isNews('a', 60_000)).toBe(true);
  });
});
