import type { Pool } from 'pg';
import { moveDayCounts } from './run-lives.ts';

const RUNS_AT_ONCE = 1_000;

/**
 * Marks the runs that a rule ended. Decisions and events arrive independently, so a run may not be known yet, or may
 * have reported its end already: this looks again for an hour. A marked run that reports success later is handled in
 * recording.sql.ts. Such runs no longer count as succeeded in their day, because they were cut off.
 */
const SETTLE_STOPPED = `
with ending as (
  select distinct on (tenant_id, run_id) tenant_id, run_id, decision_id
  from decisions
  where verdict = 'BLOCK' and effect = 'terminate' and decided_at > now() - interval '1 hour'
  order by tenant_id, run_id, decided_at, decision_id
),
due as (
  select r.tenant_id, r.run_id, e.decision_id, r.status as was
  from runs r join ending e using (tenant_id, run_id)
  where r.ended_by is null and r.killed_at is null
  order by r.tenant_id, r.run_id limit ${RUNS_AT_ONCE} for update of r skip locked
),
marked as (
  update runs r set ended_by = due.decision_id, updated_at = now(),
    status = case when r.status = 'succeeded' then 'interrupted' else r.status end
  from due where r.tenant_id = due.tenant_id and r.run_id = due.run_id
  returning r.tenant_id, r.run_id, due.was, r.agent_id, (r.started_at at time zone 'UTC')::date as day, r.error_count
),
interrupted as (select * from marked where was = 'succeeded'),${moveDayCounts('interrupted', 'was', '-')}
select tenant_id, run_id from marked`;

/** Keeps the status of runs in step with the rules that ended them. */
export class StoppedRuns {
  constructor(private readonly pool: Pick<Pool, 'query'>) {}

  /** Safe to repeat; replicas share the work. @returns the runs that changed. @throws database errors */
  async settle(): Promise<readonly (readonly [tenantId: string, runId: string])[]> {
    const { rows } = await this.pool.query<{ tenant_id: string; run_id: string }>(SETTLE_STOPPED);
    return rows.map((row) => [row.tenant_id, row.run_id]);
  }
}
