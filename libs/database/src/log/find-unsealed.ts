import { type Kysely, sql } from 'kysely';
import type { Tables } from '../schema/tables.ts';
import type { LogFinding } from './log-check.ts';

/** Stored facts of one call: bounded work, however many there are. */
export const FACTS_AT_ONCE = 4_096;
const FINDINGS_AT_ONCE = 10;

/** The tables of facts, in the order in which they are checked. */
const TABLES = {
  decision: { table: 'decisions', id: 'decision_id', at: 'decided_at' },
  change: { table: 'audit_entries', id: 'entry_id', at: 'at' },
} as const;
type FactKind = keyof typeof TABLES;

/** Where the check of facts begins. Later positions are `<kind>:<id of the last checked fact>`. */
export const FIRST_FACT = 'decision:';

/**
 * Finds rows that were put into the tables without the service that records them, or whose leaves were removed. Reads
 * the next facts by primary key and looks each up by the unique index of leaves: no call reads a whole table.
 *
 * @param after position of the last call, or `FIRST_FACT`
 */
export async function findUnsealed(
  db: Kysely<Tables>,
  tenantId: string,
  after: string,
): Promise<{ readonly findings: readonly LogFinding[]; readonly next: string | undefined }> {
  const split = after.indexOf(':');
  const kind: FactKind = after.startsWith('change:') ? 'change' : 'decision';
  const { rows } = await unsealedFacts(tenantId, kind, after.slice(split + 1)).execute(db);
  const { checked, last } = rows[0] ?? { checked: 0, last: null };
  const findings = rows.flatMap(({ id }) => (id === null ? [] : [{ problem: 'unsealed' as const, kind, id }]));
  return { findings, next: positionAfter(kind, checked, last) };
}

function positionAfter(kind: FactKind, checked: number, last: string | null): string | undefined {
  if (checked === FACTS_AT_ONCE && last !== null) return `${kind}:${last}`;
  return kind === 'decision' ? 'change:' : undefined;
}

/** One row for each unsealed fact, or one with `id` null, each with how many facts were read and the last of them. */
export function unsealedFacts(tenantId: string, kind: FactKind, after: string) {
  const { table, id, at } = TABLES[kind];
  // Facts from before the log began have no entry.
  return sql<{ checked: number; last: string | null; id: string | null }>`
    with facts as (
      select ${sql.ref(id)} as id, ${sql.ref(at)} as at from ${sql.table(table)}
      where tenant_id = ${tenantId} and ${sql.ref(id)} > ${after} order by ${sql.ref(id)} limit ${FACTS_AT_ONCE}
    ), unsealed as (
      select id from facts
      where at >= coalesce((select c.at from log_checkpoints c where c.tenant_id = ${tenantId}
          order by c.size limit 1), 'infinity')
        and not exists (select from log_leaves l
          where l.tenant_id = ${tenantId} and l.kind = ${kind} and l.entry_id = facts.id)
        and not exists (select from log_pending p
          where p.tenant_id = ${tenantId} and p.kind = ${kind} and p.entry_id = facts.id)
      order by id limit ${FINDINGS_AT_ONCE}
    )
    select all_facts.checked, all_facts.last, unsealed.id
    from (select count(*)::int as checked, max(id) as last from facts) as all_facts
    left join unsealed on true order by unsealed.id`;
}
