import type { Database } from '@agentlens/database';
import { sql } from 'kysely';

/** Whether the tenant has an admin key that works at `now` (RFC 3339), other than the key named. */
export async function hasLiveAdmin(
  db: Database['db'],
  { tenantId, now, otherThan = '' }: { readonly tenantId: string; readonly now: string; readonly otherThan?: string },
): Promise<boolean> {
  const live = await db
    .selectFrom('api_keys')
    .select('key_id')
    .where('tenant_id', '=', tenantId)
    .where('key_id', '!=', otherThan)
    .where(sql<boolean>`'admin' = any(scopes)`)
    .where('revoked_at', 'is', null)
    .where((where) => where.or([where('expires_at', 'is', null), where('expires_at', '>', now)]))
    .limit(1)
    .executeTakeFirst();
  return live !== undefined;
}
