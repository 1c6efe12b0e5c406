import type { Tables } from '@agentlens/database';
import { MAX_COUNTED_ROWS, type Total } from '@agentlens/operations';
import { type SelectQueryBuilder, sql } from 'kysely';
import type { ReadOnly } from './tenant-reads.ts';

export async function totalOf<T extends keyof Tables>(
  db: ReadOnly,
  matching: SelectQueryBuilder<Tables, T, object>,
): Promise<Total> {
  const counted = matching.select(sql`1`.as('one')).limit(MAX_COUNTED_ROWS + 1);
  const { rows } = await sql<{ total: number }>`select count(*) as total from (${counted}) as counted`.execute(db);
  const total = rows[0]?.total ?? 0;
  return { total: Math.min(total, MAX_COUNTED_ROWS), totalRelation: total > MAX_COUNTED_ROWS ? 'gte' : 'eq' };
}
