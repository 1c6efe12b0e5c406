import type { WithheldDigests } from '@agentlens/log';
import type { Evidence } from '@agentlens/operations';
import { type RawBuilder, sql } from 'kysely';
import type { ReadOnly } from '../http/tenant-reads.ts';

/** Entries of one bundle. A longer run is refused with a hint, instead of a bundle that cannot be read. */
export const MAX_ENTRIES = 10_000;

/** What a bundle is about. */
export type EvidenceSubject = Evidence['subject'];

export interface EntryRow {
  readonly index: number;
  readonly kind: string;
  readonly entry_id: string;
  readonly leaf: string;
  readonly salt: Buffer | null;
  readonly member_salt: Buffer | null;
  readonly withheld: WithheldDigests | null;
  readonly body: string | null;
  readonly run_entry: number | null;
}

const MAX_PENDING = 1_000;

/** Facts about the subject that are recorded and not in the log yet; counts at most MAX_PENDING. */
export async function countPendingFacts(
  db: ReadOnly,
  tenantId: string,
  { kind, id }: EvidenceSubject,
): Promise<number> {
  const about = {
    run: sql`run_id = ${id}`,
    decision: sql`kind = 'decision' and entry_id = ${id}`,
    order: sql`kind in ('control', 'ack') and coalesce(payload->>'orderId', payload->>'directiveId') = ${id}`,
    approval: sql`
      kind = 'approval' and payload->>'approvalId' = ${id} or kind = 'decision' and entry_id in (
        select decision_id from decisions where tenant_id = ${tenantId} and approval_id = ${id})`,
  }[kind];
  const { rows } = await sql<{ facts: number }>`
    select count(*)::int as facts from (
      select from log_pending where tenant_id = ${tenantId} and (${about}) limit ${MAX_PENDING}) as waiting`.execute(
    db,
  );
  return rows[0]?.facts ?? 0;
}

/** Removals of one bundle: they explain entries without content, and entries that are not there. */
const MAX_REMOVALS = 200;

/**
 * Adds the entries of erasures and of retention that explain what the others lack: content that is gone, and numbers of
 * a run that no content names any more.
 */
async function addRemovals(db: ReadOnly, tenantId: string, rows: readonly EntryRow[]): Promise<EntryRow[]> {
  const gaps = findRemovedRanges(rows);
  if (gaps.length === 0) return [...rows];
  const { rows: removals } = await sql<{ index: number }>`
    select distinct p.index from log_payloads p cross join lateral jsonb_array_elements(coalesce(
      p.body::jsonb->'erasure'->'ranges', p.body::jsonb->'retention'->'ranges', '[]'::jsonb)) as r
    join jsonb_to_recordset(${JSON.stringify(gaps)}::jsonb) as g(first bigint, last bigint)
      on (r->>0)::bigint <= g.last and (r->>1)::bigint >= g.first
    where p.tenant_id = ${tenantId} and p.kind in ('erasure', 'retention')
    order by p.index limit ${MAX_REMOVALS}`.execute(db);
  const known = new Set(rows.map(({ index }) => index));
  const added = removals.map(({ index }) => index).filter((index) => !known.has(index));
  if (added.length === 0) return [...rows];
  const more = await readRows(db, tenantId, sql`select unnest(${added}::bigint[])`);
  return [...rows, ...more].sort((a, b) => a.index - b.index);
}

function findRemovedRanges(rows: readonly EntryRow[]): { first: number; last: number }[] {
  const without = rows.filter(({ salt }) => salt === null).map(({ index }) => ({ first: index, last: index }));
  const numbered = rows.flatMap(({ index, run_entry: entry }) => (entry === null ? [] : [{ index, entry }]));
  const between = numbered.flatMap(({ index, entry }, n) => {
    const before = numbered[n - 1] ?? { index: -1, entry: 0 };
    return entry > before.entry + 1 ? [{ first: before.index + 1, last: index - 1 }] : [];
  });
  return [...without, ...between];
}

/** In the order of the log; more than MAX_ENTRIES if there are more. */
export async function readSubjectEntries(
  db: ReadOnly,
  tenantId: string,
  subject: EvidenceSubject,
): Promise<EntryRow[]> {
  const { kind, id } = subject;
  const about = {
    run: sql`select index from log_payloads where tenant_id = ${tenantId} and run_id = ${id}`,
    decision: sql`select index from log_leaves where tenant_id = ${tenantId} and kind = 'decision' and entry_id = ${id}`,
    order: sql`
      select index from log_payloads where tenant_id = ${tenantId} and kind in ('control', 'ack')
        and coalesce(body::jsonb->'control'->>'orderId', body::jsonb->'ack'->>'directiveId') = ${id}`,
    approval: sql`
      select p.index from log_payloads p where p.tenant_id = ${tenantId} and p.kind = 'approval'
        and (p.run_id is not distinct from (select run_id from alerts where tenant_id = ${tenantId} and alert_id = ${id})
          or not exists (select from alerts where tenant_id = ${tenantId} and alert_id = ${id}))
        and p.body::jsonb->'approval'->>'approvalId' = ${id}
      union
      select p.index from decisions d join log_payloads p
        on p.tenant_id = d.tenant_id and p.kind = 'decision' and p.entry_id = d.decision_id
      where d.tenant_id = ${tenantId} and d.approval_id = ${id}`,
  }[kind];
  return addRemovals(db, tenantId, await readRows(db, tenantId, about));
}

async function readRows(db: ReadOnly, tenantId: string, indices: RawBuilder<unknown>): Promise<EntryRow[]> {
  const { rows } = await sql<EntryRow>`
    select l.index, l.kind, l.entry_id, l.leaf, p.salt, p.member_salt, p.withheld, p.body, p.run_entry
    from log_leaves l left join log_payloads p on p.tenant_id = l.tenant_id and p.index = l.index
    where l.tenant_id = ${tenantId} and l.index in (${indices}) order by l.index limit ${MAX_ENTRIES + 1}`.execute(db);
  return rows;
}
