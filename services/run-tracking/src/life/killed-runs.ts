import type { Pool } from 'pg';
import { moveDayCounts } from './run-lives.ts';

const RUNS_AT_ONCE = 1_000;

/**
 * Marks runs that an order killed: the run and its descendants, or the runs of a killed agent or tenant that had not
 * ended when the order was given. A run of a killed agent or tenant that ended just after the order is found within
 * five minutes; one that reports its end later is handled in recording.sql.ts. Orders for runs apply for seven days.
 * Killed runs no longer count as succeeded or failed in their day, because they were cut off.
 *
 * When an order for a run is lifted, the run and its descendants continue, except those that have reported an end and
 * those that another order kills. One statement does both, so both are judged by the same orders.
 */
const SETTLE_KILLED = `
with recursive lineage as (
  select r.tenant_id, r.run_id, o.issued_at
  from control_orders o join runs r on r.tenant_id = o.tenant_id and r.run_id = o.scope_id
  where o.state = 'killed' and o.scope = 'run' and o.issued_at > now() - interval '7 days'
  union
  select r.tenant_id, r.run_id, l.issued_at
  from lineage l join runs r on r.tenant_id = l.tenant_id and r.parent_run_id = l.run_id
  where r.status in ('running', 'killed') or r.ended_at > l.issued_at
),
covered as (
  select tenant_id, run_id, issued_at from lineage
  union all
  select r.tenant_id, r.run_id, o.issued_at
  from control_orders o join runs r on r.tenant_id = o.tenant_id and r.status = 'running' and r.agent_id = o.scope_id
  where o.state = 'killed' and o.scope = 'agent'
  union all
  select r.tenant_id, r.run_id, o.issued_at
  from control_orders o join runs r on r.tenant_id = o.tenant_id and r.status = 'running'
  where o.state = 'killed' and o.scope = 'tenant'
  union all
  select r.tenant_id, r.run_id, o.issued_at
  from control_orders o join runs r on r.tenant_id = o.tenant_id and (o.scope = 'tenant' or r.agent_id = o.scope_id)
  where o.state = 'killed' and o.scope in ('agent', 'tenant')
    and o.issued_at > now() - interval '5 minutes' and r.ended_at > o.issued_at
),
due as (
  select r.tenant_id, r.run_id, r.status as was from runs r
  where r.killed_at is null and (r.tenant_id, r.run_id) in (select tenant_id, run_id from covered)
  order by r.tenant_id, r.run_id limit ${RUNS_AT_ONCE} for update skip locked
),
marked as (
  update runs r set status = 'killed', updated_at = now(), killed_at =
    (select min(c.issued_at) from covered c where c.tenant_id = r.tenant_id and c.run_id = r.run_id)
  from due where r.tenant_id = due.tenant_id and r.run_id = due.run_id
  returning r.tenant_id, r.run_id, due.was, r.agent_id, (r.started_at at time zone 'UTC')::date as day, r.error_count
),${moveDayCounts('marked', 'was', '-')},
lifted as (
  select r.tenant_id, r.run_id, o.issued_at
  from control_orders o join runs r on r.tenant_id = o.tenant_id and r.run_id = o.scope_id
  where o.scope = 'run' and o.state <> 'killed' and r.killed_at < o.issued_at
  union
  select r.tenant_id, r.run_id, l.issued_at
  from lifted l join runs r on r.tenant_id = l.tenant_id and r.parent_run_id = l.run_id
  where r.killed_at < l.issued_at
),
free as (
  select r.tenant_id, r.run_id from runs r
  where r.killed_at is not null and r.end_place is null
    and (r.tenant_id, r.run_id) in (select tenant_id, run_id from lifted)
    and (r.tenant_id, r.run_id) not in (select tenant_id, run_id from lineage)
    and not exists (select from control_orders o where o.tenant_id = r.tenant_id and o.state = 'killed'
      and (o.scope = 'tenant' or (o.scope = 'agent' and o.scope_id = r.agent_id)))
  order by r.tenant_id, r.run_id limit ${RUNS_AT_ONCE} for update skip locked
),
resumed as (
  update runs r set status = 'running', killed_at = null, updated_at = now()
  from free where r.tenant_id = free.tenant_id and r.run_id = free.run_id
  returning r.tenant_id, r.run_id
)
select tenant_id, run_id from marked union all select tenant_id, run_id from resumed`;

/** Keeps the status of runs in step with orders. */
export class KilledRuns {
  constructor(private readonly pool: Pick<Pool, 'query'>) {}

  /** Safe to repeat; replicas share the work. @returns the runs that changed. @throws database errors */
  async settle(): Promise<readonly (readonly [tenantId: string, runId: string])[]> {
    const { rows } = await this.pool.query<{ tenant_id: string; run_id: string }>(SETTLE_KILLED);
    return rows.map((row) => [row.tenant_id, row.run_id]);
  }
}
