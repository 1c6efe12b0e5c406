import type { Database } from '@agentlens/database';
import { sql } from 'kysely';
import type { KeyRecord } from './cached-key-directory.ts';

/**
 * What there is of these keys. Key ids are unique across tenants: this is the one look-up that cannot name a tenant,
 * because it finds it.
 */
export async function readKeyRecords(database: Database, keyIds: readonly string[]): Promise<readonly KeyRecord[]> {
  const rows = await database.db
    .selectFrom('api_keys')
    .innerJoin('tenants', 'tenants.id', 'api_keys.tenant_id')
    .select(['tenant_id', 'key_id', 'secret_hash', 'scopes', 'events_per_second', 'expires_at', 'revoked_at'])
    .select('decision_fail_mode')
    .where('key_id', '=', sql<string>`any(${keyIds}::text[])`)
    .execute();
  return rows.map((row) => ({
    tenantId: row.tenant_id,
    keyId: row.key_id,
    secretHash: row.secret_hash,
    scopes: row.scopes,
    eventsPerSecond: row.events_per_second,
    decisionFailMode: row.decision_fail_mode,
    expiresAtMs: row.expires_at === null ? null : Date.parse(row.expires_at),
    revokedAtMs: row.revoked_at === null ? null : Date.parse(row.revoked_at),
  }));
}
