import { MAX_ANCESTORS } from '@agentlens/contracts';
import { type Kysely, sql } from 'kysely';
import type { Tables } from './schema/tables.ts';

/** Returns a run and its ancestors, nearest first; undefined if no event of the run has been stored. */
export async function runLine(
  db: Pick<Kysely<Tables>, 'getExecutor'>,
  tenantId: string,
  runId: string,
): Promise<readonly string[] | undefined> {
  const { rows } = await sql<{ run_id: string; parent_run_id: string | null }>`
    with recursive line as (
      select run_id, parent_run_id, array[run_id] as path from runs
      where tenant_id = ${tenantId} and run_id = ${runId}
      union all
      select r.run_id, r.parent_run_id, line.path || r.run_id
      from line join runs r on r.tenant_id = ${tenantId} and r.run_id = line.parent_run_id
      where r.run_id <> all(line.path) and cardinality(line.path) < ${MAX_ANCESTORS}
    )
    select run_id, parent_run_id from line order by cardinality(path)`.execute(db);
  // The topmost parent may have reported nothing itself.
  const above = rows.at(-1)?.parent_run_id;
  if (rows.length === 0) return undefined;
  return [...new Set([...rows.map((row) => row.run_id), ...(above == null ? [] : [above])])];
}
