import { type Kysely, sql } from 'kysely';
import { openTable, RUN_TRACKING } from './open-table.ts';

/** What each agent did in each minute and hour, for charts: counts of its events and of the decisions about its calls. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table activity (
      tenant_id text not null,
      grain text not null check (grain in ('minute', 'hour')),
      bucket timestamptz not null,
      agent_id text not null,
      event_count bigint not null default 0,
      error_count bigint not null default 0,
      tool_call_count bigint not null default 0,
      llm_call_count bigint not null default 0,
      input_tokens bigint not null default 0,
      output_tokens bigint not null default 0,
      cost_usd numeric not null default 0,
      decision_count bigint not null default 0,
      blocked_count bigint not null default 0,
      asked_count bigint not null default 0,
      bypassed_count bigint not null default 0,
      -- Decisions by latency: a count for each bound of @agentlens/runs, and one above the last.
      latency_counts bigint[] not null default '{}',
      primary key (tenant_id, grain, bucket, agent_id)
    ) with (fillfactor = 70);
    create index activity_by_time on activity (grain, bucket);
    alter table activity enable row level security;
    alter table activity force row level security;
  `.execute(db);
  await openTable(db, 'activity', { writers: [RUN_TRACKING], readers: [] });
}
