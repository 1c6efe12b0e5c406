import { sql } from 'kysely';
import type { ReadOnly } from '../http/tenant-reads.ts';

/** Time from a run's first event to its last, as ISO instants. */
export interface RunSpan {
  readonly first: string;
  readonly last: string;
}

/**
 * Returns the time range of a run's events, so that reading them opens only the partitions of those days. Returns
 * undefined for an unknown run, and `empty` if a decision was made before the run's first event arrived.
 */
export async function spanOfRun(db: ReadOnly, tenantId: string, runId: string): Promise<RunSpan | 'empty' | undefined> {
  const { rows } = await sql<{ first: string | null; last: string | null; decided: boolean }>`
    select min(started_at) as first, max(last_event_at) as last,
      exists (select from decisions where tenant_id = ${tenantId} and run_id = ${runId}) as decided
    from runs where tenant_id = ${tenantId} and run_id = ${runId}`.execute(db);
  const [row] = rows;
  if (typeof row?.first === 'string' && typeof row.last === 'string') return { first: row.first, last: row.last };
  return row?.decided ? 'empty' : undefined;
}

/** Condition on `events` for the events of a run. */
export function ofRun(tenantId: string, runId: string, span: RunSpan | 'empty') {
  if (span === 'empty') return sql<boolean>`false`;
  return sql<boolean>`(tenant_id = ${tenantId} and run_id = ${runId}
    and occurred_at >= ${span.first}::timestamptz and occurred_at <= ${span.last}::timestamptz)`;
}

/** The same range from a run's row. */
export function spanOfRow(row: { readonly started_at: string; readonly last_event_at: string }): RunSpan {
  return { first: row.started_at, last: row.last_event_at };
}

/** The events of a run, as a query to order and page. */
export function eventsOfRun(db: ReadOnly, tenantId: string, runId: string, span: RunSpan | 'empty') {
  return db.selectFrom('events').where(ofRun(tenantId, runId, span));
}
