import { type Kysely, sql } from 'kysely';

/**
 * What runs, the agent registry and their reads need beyond 0003. The places say which event decided a value, as in
 * 0001; `created_at` and `updated_at` are the database's clock, by which a run times out or is lost.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    alter table runs
      add column created_at timestamptz not null default now(),
      add column actor_place text collate "C",
      add column result_place text collate "C",
      add column error_place text collate "C";

    alter table agents
      add column description_place text collate "C",
      add column tags_place text collate "C",
      -- By name, which event named a tool last.
      add column tool_places jsonb not null default '{}';

    -- An index on what every event of a run changes would keep its row from being updated in place. This one holds only
    -- runs that somebody has to end, and nothing in it changes while they run.
    drop index runs_running;
    create index runs_watched on runs (tenant_id, run_id)
      where status = 'running' and (ttl_ms is not null or heartbeat_every_ms is not null);

    -- Rows in order of time: a few pages say where those past retention lie, and inserting costs next to nothing.
    create index decisions_by_time on decisions using brin (decided_at);
    create index decisions_by_rule on decisions (tenant_id, final_rule_id, decided_at desc)
      where final_rule_id is not null;

    -- For the timeline of a run.
    create index guardrail_triggers_by_run on guardrail_triggers (tenant_id, run_id, triggered_at)
      where run_id is not null;
    create index alerts_by_run on alerts (tenant_id, run_id, created_at) where run_id is not null;
  `.execute(db);
}
