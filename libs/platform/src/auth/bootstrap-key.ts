import { PLATFORM_TENANT } from '@agentlens/contracts';
import { type Database, lockUntilEnd, recordChanges } from '@agentlens/database';
import { ConfigError } from '../config/config-error.ts';
import type { Clock } from '../platform.ts';
import { apiKeyHash, apiKeyIdOf, newApiKey } from './api-key.ts';
import { hasLiveKey } from './api-keys.ts';

export const DEFAULT_TENANT = 'default';

/** A key that must exist before anyone can sign in. */
interface FirstKey {
  readonly tenantId: string;
  readonly tenantName: string;
  readonly keyName: string;
  readonly scope: 'admin' | 'platform';
  /** Environment variable that can set it. */
  readonly variable: string;
}

const ADMIN: FirstKey = {
  tenantId: DEFAULT_TENANT,
  tenantName: 'Default',
  keyName: 'first admin key',
  scope: 'admin',
  variable: 'AGENTLENS_BOOTSTRAP_KEY',
};
const PLATFORM: FirstKey = {
  tenantId: PLATFORM_TENANT,
  tenantName: 'Platform',
  keyName: 'first platform key',
  scope: 'platform',
  variable: 'AGENTLENS_PLATFORM_KEY',
};

/**
 * Creates the tenant `default` and its first admin key: the given one, or a new one unless the tenant has a live admin
 * key. Safe to run concurrently.
 *
 * @returns the key if it was created by this call
 */
export function bootstrapKey(database: Database, clock: Clock, given: string | undefined): Promise<string | null> {
  return makeFirst(ADMIN, database, clock, given);
}

/** The same for the first key that can create tenants. */
export function bootstrapPlatformKey(
  database: Database,
  clock: Clock,
  given: string | undefined,
): Promise<string | null> {
  return makeFirst(PLATFORM, database, clock, given);
}

/** Whether the tenant `default` has a live admin key. */
export function hasFirstKey({ db }: Database, clock: Clock): Promise<boolean> {
  const now = new Date(clock.now()).toISOString();
  return hasLiveKey(db, { tenantId: ADMIN.tenantId, scope: ADMIN.scope, now });
}

function makeFirst(
  { tenantId, tenantName, keyName, scope, variable }: FirstKey,
  database: Database,
  clock: Clock,
  given: string | undefined,
): Promise<string | null> {
  const now = new Date(clock.now()).toISOString();
  return database.db.transaction().execute(async (db) => {
    await lockUntilEnd(db, 'bootstrap-key');
    await db
      .insertInto('tenants')
      .values({ id: tenantId, name: tenantName, created_at: now })
      .onConflict((conflict) => conflict.doNothing())
      .execute();
    if (given === undefined && (await hasLiveKey(db, { tenantId, scope, now }))) return null;
    const { id, key } = given === undefined ? newApiKey() : { id: idOfGiven(given, variable), key: given };
    const made = await db
      .insertInto('api_keys')
      .values({
        tenant_id: tenantId,
        key_id: id,
        name: keyName,
        secret_hash: apiKeyHash(key),
        scopes: [scope],
        events_per_second: null,
        created_at: now,
        last_used_at: null,
        expires_at: null,
        revoked_at: null,
      })
      .onConflict((conflict) => conflict.doNothing())
      .returning('key_id')
      .executeTakeFirst();
    if (made === undefined) return null;
    const reason = given === undefined ? 'made at the first start' : `given as ${variable}`;
    const after = { id, name: keyName, scopes: [scope] };
    await recordChanges(db, [{ tenantId, at: now, kind: 'key.created', targetId: id, reason, after }]);
    return key;
  });
}

function idOfGiven(key: string, variable: string): string {
  const id = apiKeyIdOf(key);
  if (id !== null) return id;
  throw new ConfigError(
    `${variable} is not a complete AgentLens key (agk_live_<id>_<secret>). ` +
      'Make one with: node libs/platform/dist/new-key.js',
  );
}
