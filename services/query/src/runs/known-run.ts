import { sql } from 'kysely';
import type { ReadOnly } from '../http/tenant-reads.ts';

/** Whether anybody told of the run: an event, or a question that was decided before the first event came. */
export async function isKnownRun(db: ReadOnly, tenantId: string, runId: string): Promise<boolean> {
  const { rows } = await sql<{ known: boolean }>`
    select exists (select from runs where tenant_id = ${tenantId} and run_id = ${runId})
      or exists (select from decisions where tenant_id = ${tenantId} and run_id = ${runId}) as known`.execute(db);
  return rows[0]?.known === true;
}
