import type { Tables } from '@agentlens/database';
import { type SelectQueryBuilder, sql } from 'kysely';
import { z } from 'zod';
import type { ReadOnly } from './tenant-reads.ts';

/** Counting further costs more than anybody learns from it. */
export const MOST_COUNTED = 10_000;

/** How many rows match, of which a page shows some. */
export const Total = {
  total: z.int().meta({ description: `How many match, counted up to ${MOST_COUNTED.toLocaleString('en')}.` }),
  totalRelation: z.enum(['eq', 'gte']).meta({ description: '`gte`: there are more than `total`; `eq`: that many.' }),
};
export type Total = z.infer<z.ZodObject<typeof Total>>;

export async function totalOf<T extends keyof Tables>(
  db: ReadOnly,
  matching: SelectQueryBuilder<Tables, T, object>,
): Promise<Total> {
  const counted = matching.select(sql`1`.as('one')).limit(MOST_COUNTED + 1);
  const { rows } = await sql<{ total: number }>`select count(*) as total from (${counted}) as counted`.execute(db);
  const total = rows[0]?.total ?? 0;
  return { total: Math.min(total, MOST_COUNTED), totalRelation: total > MOST_COUNTED ? 'gte' : 'eq' };
}
