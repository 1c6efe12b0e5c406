/**
 * CTEs that move the day counts of runs that ended as succeeded (`succeeded`, `cancelled`) or failed (`failed` without
 * an error event, which is counted separately). `+` adds them, `-` takes them back.
 *
 * @param changed a CTE with tenant_id, agent_id, day, error_count and the status
 * @param status name of the status column
 */
export const moveDayCounts = (changed: string, status: string, sign: '+' | '-'): string => `
moved as (
  select tenant_id, agent_id, day, count(*) filter (where ${status} in ('succeeded', 'cancelled')) as succeeded,
    count(*) filter (where ${status} = 'failed' and error_count = 0) as failed
  from ${changed} group by 1, 2, 3
),
-- In the order in which all writers lock days.
locked as (
  select d.tenant_id, d.agent_id, d.day, succeeded, failed
  from agent_daily as d join moved using (tenant_id, agent_id, day) where succeeded + failed > 0
  order by d.tenant_id, d.agent_id, d.day for update of d
),
days as (
  update agent_daily as d set run_succeeded_count = d.run_succeeded_count ${sign} locked.succeeded,
    run_error_count = d.run_error_count ${sign} locked.failed
  from locked where d.tenant_id = locked.tenant_id and d.agent_id = locked.agent_id and d.day = locked.day
)`;
