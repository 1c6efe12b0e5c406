import type { Scope } from '@agentlens/contracts';
import type { Database } from '@agentlens/database';
import { sql } from 'kysely';

interface LiveKeyQuestion {
  readonly tenantId: string;
  readonly scope: Scope;
  /** RFC 3339. */
  readonly now: string;
  /** A key that does not count. */
  readonly otherThan?: string;
}

/** Whether the tenant has a key with this scope that works at `now`. */
export async function hasLiveKey(
  db: Database['db'],
  { tenantId, scope, now, otherThan = '' }: LiveKeyQuestion,
): Promise<boolean> {
  const live = await db
    .selectFrom('api_keys')
    .select('key_id')
    .where('tenant_id', '=', tenantId)
    .where('key_id', '!=', otherThan)
    .where(sql<boolean>`${scope} = any(scopes)`)
    .where('revoked_at', 'is', null)
    .where((where) => where.or([where('expires_at', 'is', null), where('expires_at', '>', now)]))
    .limit(1)
    .executeTakeFirst();
  return live !== undefined;
}
