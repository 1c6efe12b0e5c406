import { DAY_MS } from '@agentlens/contracts';
import { type Kysely, sql } from 'kysely';
import type { Tables } from './schema/tables.ts';

type PartitionedTable = 'events' | 'guardrail_triggers';

/** UTC start of the partition that holds an instant, and of the one after it. */
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
 * Makes the partitions (days of `events`, months of `guardrail_triggers`) from one instant to another, both included,
 * where they are missing, and answers how many it made. Rows that waited in the default partition move into them. Safe
 * from any number of callers; readers and writers of the table go on meanwhile.
 */
export async function ensurePartitions(
  db: Kysely<Tables>,
  table: PartitionedTable,
  fromMs: number,
  toMs: number,
): Promise<number> {
  let made = 0;
  // One statement, one transaction each, so that no lock is held longer than one partition takes.
  for (let span = partitionSpan(table, fromMs); span.from <= toMs; span = partitionSpan(table, span.to)) {
    const { rows } = await sql<{ made: boolean }>`
      select ensure_partition(${table}::regclass, ${isoText(span.from)}::timestamptz, ${isoText(span.to)}::timestamptz) as made
    `.execute(db);
    if (rows[0]?.made === true) made += 1;
  }
  return made;
}

/** Retention: drops every partition that ends at or before the instant and older rows of the default one. */
export async function dropPartitions(db: Kysely<Tables>, table: PartitionedTable, beforeMs: number): Promise<number> {
  const { rows } = await sql<{ dropped: number }>`
    select drop_partitions(${table}::regclass, ${isoText(beforeMs)}::timestamptz) as dropped
  `.execute(db);
  return rows[0]?.dropped ?? 0;
}

function isoText(ms: number): string {
  return new Date(ms).toISOString();
}
