import { DAY_MS } from '@agentlens/contracts';
import { type Kysely, sql } from 'kysely';
import type { Tables } from './schema/tables.ts';

type PartitionedTable = 'events' | 'guardrail_triggers';

/** UTC start of the partition for a time, and of the next one. */
function partitionSpan(table: PartitionedTable, atMs: number): { readonly from: number; readonly to: number } {
  const at = new Date(atMs);
  if (table === 'events') {
    const from = Date.UTC(at.getUTCFullYear(), at.getUTCMonth(), at.getUTCDate());
    return { from, to: from + DAY_MS };
  }
  return {
    from: Date.UTC(at.getUTCFullYear(), at.getUTCMonth(), 1),
    to: Date.UTC(at.getUTCFullYear(), at.getUTCMonth() + 1, 1),
  };
}

/**
 * Creates missing partitions (days of `events`, months of `guardrail_triggers`) between two times, both inclusive, and
 * returns how many it created. Rows in the default partition move into them. Safe to call concurrently and under load.
 */
export async function ensurePartitions(
  db: Kysely<Tables>,
  table: PartitionedTable,
  fromMs: number,
  toMs: number,
): Promise<number> {
  let made = 0;
  // One transaction per partition, so that locks are held only briefly.
  for (let span = partitionSpan(table, fromMs); span.from <= toMs; span = partitionSpan(table, span.to)) {
    const { rows } = await sql<{ made: boolean }>`
      select ensure_partition(${table}::regclass, ${isoText(span.from)}::timestamptz, ${isoText(span.to)}::timestamptz) as made
    `.execute(db);
    if (rows[0]?.made === true) made += 1;
  }
  return made;
}

/** Drops every partition that ends at or before the time, and older rows of the default partition. */
export async function dropPartitions(db: Kysely<Tables>, table: PartitionedTable, beforeMs: number): Promise<number> {
  const { rows } = await sql<{ dropped: number }>`
    select drop_partitions(${table}::regclass, ${isoText(beforeMs)}::timestamptz) as dropped
  `.execute(db);
  return rows[0]?.dropped ?? 0;
}

function isoText(ms: number): string {
  return new Date(ms).toISOString();
}
