import { mkdtemp, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { migrate } from '@agentlens/database';
import { createMemoryBus } from '@agentlens/messaging';
import { createMemoryState } from '@agentlens/state';
import { eventually, type FreshDatabase, fixedClock, freshDatabase, tcpProxy } from '@agentlens/testing';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { type Logger, pino } from 'pino';
import { assemblePlatform } from './assemble-platform.ts';
import { newApiKey } from './auth/api-key.ts';
import { ApiKeys } from './auth/api-keys.ts';
import { bootstrapKey, bootstrapPlatformKey } from './auth/bootstrap-key.ts';
import { loadConfig } from './config/config.ts';
import { ensureBootstrapKey, openPlatform } from './open-platform.ts';
import type { Platform } from './platform.ts';

const silent = pino({ level: 'silent' });
const SECRET_KEY = Buffer.alloc(32, 1).toString('base64');

/** Retries the check while the key is unavailable, because the database may be slow on a busy machine. */
const checked = ({ keys }: Platform, key: string) =>
  eventually(async () => {
    const check = await keys.check(key);
    if (check.kind === 'unavailable') throw new Error('the key cannot be checked');
    return check;
  });

describe('API keys on Postgres', () => {
  const clock = fixedClock('2026-01-01T00:00:00.000Z');
  let fresh: FreshDatabase;
  let platform: Platform;
  let keys: ApiKeys;

  const platformOn = (databaseUrl: string, logger: Logger) =>
    assemblePlatform({
      config: loadConfig('standalone', { DATABASE_URL: databaseUrl }),
      bus: createMemoryBus(),
      state: createMemoryState(),
      databaseUrl,
      secretKeys: [SECRET_KEY],
      logger,
      clock,
    });

  beforeAll(async () => {
    fresh = await freshDatabase({ migrate });
    platform = platformOn(fresh.url, silent);
    keys = new ApiKeys(platform.database('query'), platform.bus, clock, silent);
  });
  afterAll(async () => {
    await platform.close();
    await fresh.drop();
  });

  it('creates one first admin key for any number of concurrent starts', async () => {
    const database = platform.database('query');
    const made = await Promise.all(Array.from({ length: 5 }, () => bootstrapKey(database, clock, undefined)));
    const key = made.filter((one) => one !== null);
    expect(key).toHaveLength(1);
    expect(await checked(platform, key[0] ?? '')).toMatchObject({
      kind: 'accepted',
      caller: { tenantId: 'default', scopes: ['admin'], eventsPerSecond: 50_000 },
    });
    expect(await bootstrapKey(database, clock, undefined)).toBeNull();
    const audited = await database.db.selectFrom('audit_entries').select(['kind', 'reason', 'after']).execute();
    expect(audited).toMatchObject([
      { kind: 'key.created', reason: 'made at the first start', after: { scopes: ['admin'] } },
    ]);
  });

  it('waits for a database that does not answer yet', async () => {
    const proxy = await tcpProxy(fresh.url);
    proxy.mode('blackhole');
    const starting = platformOn(proxy.url, pino({ level: 'warn' }, { write: () => proxy.mode('pass') }));
    try {
      await ensureBootstrapKey(starting);
      expect(await bootstrapKey(starting.database('query'), clock, undefined)).toBeNull();
    } finally {
      await starting.close();
      await proxy.close();
    }
  });

  it('uses a given first key once', async () => {
    const given = newApiKey().key;
    expect(await bootstrapKey(platform.database('query'), clock, given)).toBe(given);
    expect(await bootstrapKey(platform.database('query'), clock, given)).toBeNull();
    expect((await checked(platform, given)).kind).toBe('accepted');
  });

  it('creates the platform key once, separate from every tenant', async () => {
    const database = platform.database('query');
    const made = await bootstrapPlatformKey(database, clock, undefined);
    expect(await bootstrapPlatformKey(database, clock, undefined)).toBeNull();
    const check = await checked(platform, made ?? '');
    expect(check).toMatchObject({ kind: 'accepted', caller: { tenantId: 'platform', scopes: ['platform'] } });
    await expect(bootstrapPlatformKey(database, clock, 'hunter2')).rejects.toThrow('AGENTLENS_PLATFORM_KEY');
  });

  it('rejects an invalid given key and explains how to create one', async () => {
    await expect(bootstrapKey(platform.database('query'), clock, 'hunter2')).rejects.toThrow('new-key.js');
  });

  it('returns a key once and stores only its hash', async () => {
    const made = await keys.create({ tenantId: 'default', name: 'agents', scopes: ['ingest'], eventsPerSecond: 100 });
    const { key, ...shown } = made;
    expect(await keys.list('default', { limit: 10 })).toContainEqual(shown);
    expect(
      JSON.stringify(await platform.database('query').db.selectFrom('api_keys').selectAll().execute()),
    ).not.toContain(key.slice(-49));
  });

  it('rotates: both keys work for a day, then only the new one', async () => {
    const old = await keys.create({ tenantId: 'default', name: 'rolling', scopes: ['read'] });
    const rotated = await keys.rotate('default', old.id);
    if (rotated.kind !== 'rotated') throw new Error(rotated.kind);
    const kinds = async () => [
      (await checked(platform, old.key)).kind,
      (await checked(platform, rotated.key.key)).kind,
    ];
    expect(await kinds()).toEqual(['accepted', 'accepted']);
    clock.advance(24 * 60 * 60_000);
    expect(await kinds()).toEqual(['refused', 'accepted']);
    expect(await keys.rotate('default', old.id)).toEqual({ kind: 'not_live' });
  });

  it('revokes a key once, and never a key of another tenant', async () => {
    const made = await keys.create({ tenantId: 'default', name: 'leaked', scopes: ['read'] });
    expect(await keys.revoke('other', made.id)).toEqual({ kind: 'unknown' });
    expect(await keys.rotate('other', made.id)).toEqual({ kind: 'unknown' });
    expect(await keys.revoke('default', made.id)).toEqual({ kind: 'revoked' });
    expect(await keys.revoke('default', made.id)).toEqual({ kind: 'already_revoked' });
    expect(await checked(platform, made.key)).toEqual({ kind: 'refused', reason: 'revoked' });
  });
});

describe('the embedded platform', () => {
  let dataDir: string;
  let platform: Platform | undefined;

  beforeAll(async () => {
    dataDir = await mkdtemp(join(tmpdir(), 'agentlens-platform-'));
  });
  afterEach(async () => {
    await platform?.close();
    platform = undefined;
  });
  afterAll(() => rm(dataDir, { recursive: true, force: true }));

  const config = () => loadConfig('standalone', { AGENTLENS_DATA_DIR: dataDir });

  it('opens an empty folder, migrates, and finds keys and secrets after a restart', async () => {
    platform = await openPlatform(config(), silent);
    const key = await ensureBootstrapKey(platform);
    const sealed = platform.secrets.seal('secret', ['a']);
    expect((await stat(join(dataDir, 'secret-key'))).mode & 0o777).toBe(0o600);
    await platform.close();

    platform = await openPlatform(config(), silent);
    expect((await checked(platform, key ?? '')).kind).toBe('accepted');
    expect(platform.secrets.open(sealed, ['a'])).toBe('secret');
    expect(await readFile(join(dataDir, 'secret-key'), 'utf8')).toHaveLength(45);
  });

  it('rejects a data folder that another process is using', async () => {
    platform = await openPlatform(config(), silent);
    await expect(openPlatform(config(), silent)).rejects.toThrow('in use by another AgentLens process');
  });

  it('evicts a revoked key on every instance at once', async () => {
    platform = await openPlatform(config(), silent);
    const keys = new ApiKeys(platform.database('query'), platform.bus, platform.clock, silent);
    const made = await keys.create({ tenantId: 'default', name: 'leaked', scopes: ['read'] });
    expect((await checked(platform, made.key)).kind).toBe('accepted');
    await keys.revoke('default', made.id);
    await eventually(async () => {
      expect(await platform?.keys.check(made.key)).toEqual({ kind: 'refused', reason: 'revoked' });
    });
  });
});
