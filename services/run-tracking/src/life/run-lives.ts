import type { RunHeartbeats } from '@agentlens/contracts';
import type { Pool } from 'pg';

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

/** Tenant and run. */
type RunKey = readonly [tenantId: string, runId: string];

/** A heartbeat of a run. */
export type Beat = RunHeartbeats['beats'][number] & { readonly tenantId: string };

/** Heartbeats can be late or lost; a run is lost after this many missed ones. */
const MISSED_BEATS = 3;
/** Minimum silence before a run is lost, because heartbeats are batched twice on their way. */
const MIN_SILENCE_MS = 5_000;
const RUNS_AT_ONCE = 1_000;

/**
 * Ends overdue runs: `timed_out` past their time to live, `lost` after three missed heartbeats, or with the end of
 * their agent after `$1` seconds without events. Uses only the clock of the database, because the clocks of agents can
 * be wrong. `ended_at` and `end_place` stay empty, so a later report of the agent takes precedence. Replicas share the
 * rows and skip locked ones. Updates the day counts.
 */
const END_OVERDUE = `
with overdue as (
  select tenant_id, run_id,
    case when created_at + ttl_ms * interval '1 millisecond' <= now() then 'timed_out'
      when agent_end_place is not null then agent_end_status else 'lost' end as status
  from runs
  where status = 'running' and (ttl_ms is not null or heartbeat_every_ms is not null)
    and (created_at + ttl_ms * interval '1 millisecond' <= now()
      or (agent_end_place is not null and updated_at + $1 * interval '1 second' <= now())
      or greatest(updated_at, heartbeat_at)
        + greatest(heartbeat_every_ms * ${MISSED_BEATS}, ${MIN_SILENCE_MS}) * interval '1 millisecond' <= now())
  order by tenant_id, run_id limit ${RUNS_AT_ONCE} for update skip locked
),
ended as (
  update runs as r set status = overdue.status from overdue
  where r.tenant_id = overdue.tenant_id and r.run_id = overdue.run_id
  returning r.tenant_id, r.run_id, r.status, r.agent_id, (r.started_at at time zone 'UTC')::date as day, r.error_count
),${moveDayCounts('ended', 'status', '+')}
select tenant_id, run_id, status from ended`;

/** Records heartbeats of running runs, only forwards: every replica receives them, and one writes. */
const TAKE_BEATS = `
with beats as (
  select "tenantId" as tenant_id, "runId" as run_id, max(at) as at, max("everyMs")::bigint as every_ms
  from jsonb_to_recordset($1::jsonb) as b("tenantId" text, "runId" text, at timestamptz, "everyMs" double precision)
  group by 1, 2
),
alive as (
  select r.tenant_id, r.run_id, b.at, b.every_ms, r.status = 'lost' as was_lost
  from runs r join beats b using (tenant_id, run_id)
  where r.end_place is null and (r.heartbeat_at is null or r.heartbeat_at < b.at)
  order by r.tenant_id, r.run_id for update of r
)
update runs as r set heartbeat_at = alive.at,
  heartbeat_every_ms = greatest(r.heartbeat_every_ms, alive.every_ms),
  status = case when r.status = 'lost' then 'running' else r.status end
from alive where r.tenant_id = alive.tenant_id and r.run_id = alive.run_id
returning r.tenant_id, r.run_id, alive.was_lost`;

interface OverdueRuns {
  readonly ended: readonly RunKey[];
  readonly byStatus: ReadonlyMap<string, number>;
  readonly more: boolean;
}

/** Liveness of runs beyond their events. */
export class RunLives {
  constructor(private readonly pool: Pool) {}

  /**
   * @param quietSeconds silence after which the end of an agent ends its run
   * @returns the ended runs, counts by status, and whether more may be left
   * @throws database errors
   */
  async endOverdue(quietSeconds: number): Promise<OverdueRuns> {
    const { rows } = await this.pool.query<{ tenant_id: string; run_id: string; status: string }>(END_OVERDUE, [
      quietSeconds,
    ]);
    const byStatus = new Map<string, number>();
    for (const { status } of rows) byStatus.set(status, (byStatus.get(status) ?? 0) + 1);
    return {
      ended: rows.map((row) => [row.tenant_id, row.run_id] as const),
      byStatus,
      more: rows.length === RUNS_AT_ONCE,
    };
  }

  /** Records heartbeats. @returns lost runs that are running again. @throws database errors */
  async take(beats: readonly Beat[]): Promise<readonly RunKey[]> {
    const { rows } = await this.pool.query<{ tenant_id: string; run_id: string; was_lost: boolean }>(TAKE_BEATS, [
      JSON.stringify(beats),
    ]);
    return rows.filter((row) => row.was_lost).map((row) => [row.tenant_id, row.run_id] as const);
  }
}
