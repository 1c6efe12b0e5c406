import type { Database } from '@agentlens/database';
import { sql } from 'kysely';
import type { KeyRecord } from './cached-key-directory.ts';

/** Whether the tenant of a key has a rule in force, or a budget, that blocks when it cannot be evaluated. */
const HAS_TO_BLOCK = sql<boolean>`(
  exists (
    select from guardrail_rules r
    where r.tenant_id = api_keys.tenant_id and r.on_unavailable = 'block' and r.deleted_at is null
      and r.enabled and r.mode = 'enforce' and not r.dry_run
  ) or exists (
    select from budgets b where b.tenant_id = api_keys.tenant_id and b.on_unavailable = 'block' and b.deleted_at is null
      and b.enabled
  )
)`;

/**
 * What there is of these keys. Key ids are unique across tenants: this is the one look-up that cannot name a tenant,
 * because it finds it.
 */
export async function readKeyRecords(database: Database, keyIds: readonly string[]): Promise<readonly KeyRecord[]> {
  const rows = await database.db
    .selectFrom('api_keys')
    .innerJoin('tenants', 'tenants.id', 'api_keys.tenant_id')
    .select(['tenant_id', 'key_id', 'secret_hash', 'scopes', 'agents', 'events_per_second', 'expires_at', 'revoked_at'])
    .select(['decision_fail_mode', 'decision_arguments', 'denied_calls'])
    .select(HAS_TO_BLOCK.as('has_to_block'))
    .where('key_id', '=', sql<string>`any(${keyIds}::text[])`)
    .execute();
  return rows.map((row) => ({
    tenantId: row.tenant_id,
    keyId: row.key_id,
    secretHash: row.secret_hash,
    scopes: row.scopes,
    agents: row.agents,
    eventsPerSecond: row.events_per_second,
    decisionFailMode: row.has_to_block ? 'block' : row.decision_fail_mode,
    keepsArguments: row.decision_arguments === 'redacted',
    asksAgain: row.denied_calls === 'ask',
    expiresAtMs: row.expires_at === null ? null : Date.parse(row.expires_at),
    revokedAtMs: row.revoked_at === null ? null : Date.parse(row.revoked_at),
  }));
}
