import type { Database } from '@agentlens/database';
import { sql } from 'kysely';
import { ConfigError } from '../config/config-error.ts';
import type { Clock } from '../platform.ts';
import { apiKeyHash, apiKeyIdOf, newApiKey } from './api-key.ts';
import { hasLiveAdmin } from './live-admin.ts';

export const DEFAULT_TENANT = 'default';

/**
 * Makes the tenant `default` and its first admin key, so that somebody can get in: the given key if there is one, else
 * a new one unless the tenant has a live admin key. Any number of starters may do this at once.
 * @returns the key if it was made now.
 */
export async function bootstrapKey(
  database: Database,
  clock: Clock,
  given: string | undefined,
): Promise<string | null> {
  const now = new Date(clock.now()).toISOString();
  return database.db.transaction().execute(async (db) => {
    await sql`select pg_advisory_xact_lock(hashtext('agentlens:bootstrap-key'))`.execute(db);
    await db
      .insertInto('tenants')
      .values({ id: DEFAULT_TENANT, name: 'Default', created_at: now })
      .onConflict((conflict) => conflict.doNothing())
      .execute();
    if (given === undefined && (await hasLiveAdmin(db, { tenantId: DEFAULT_TENANT, now }))) return null;
    const { id, key } = given === undefined ? newApiKey() : { id: idOfGiven(given), key: given };
    const made = await db
      .insertInto('api_keys')
      .values({
        tenant_id: DEFAULT_TENANT,
        key_id: id,
        name: 'first admin key',
        secret_hash: apiKeyHash(key),
        scopes: ['admin'],
        events_per_second: null,
        created_at: now,
        last_used_at: null,
        expires_at: null,
        revoked_at: null,
      })
      .onConflict((conflict) => conflict.doNothing())
      .returning('key_id')
      .executeTakeFirst();
    return made === undefined ? null : key;
  });
}

function idOfGiven(key: string): string {
  const id = apiKeyIdOf(key);
  if (id !== null) return id;
  throw new ConfigError(
    'AGENTLENS_BOOTSTRAP_KEY is not a complete key of ours (agk_live_<id>_<secret>). ' +
      'Make one with: node libs/platform/dist/new-key.js',
  );
}
