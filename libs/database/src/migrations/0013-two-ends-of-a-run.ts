import { type Kysely, sql } from 'kysely';

/**
 * A run of spans may end twice: an agent inside it ends before its root. Rows from before have the end of the run itself
 * in `status`.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    alter table runs
      add column end_status text,
      add column agent_end_status text,
      add column agent_end_place text collate "C",
      -- Which event named the parent. Rows from before keep the parent they have.
      add column parent_place text collate "C";

    create type run_row_2 as (
      tenant_id text, run_id text, agent_id text, first_place text, agent_name text, name_place text, model text,
      provider text, model_place text, status text, ended_at text, end_place text, session_id text, parent_run_id text,
      parent_tool_use_id text, started_at text, last_event_at text, event_count bigint, error_count bigint,
      tool_call_count bigint, tool_error_count bigint, llm_call_count bigint, input_tokens bigint, output_tokens bigint,
      total_tokens bigint, cost_usd text, unpriced_count bigint, tags text[], cache_read_tokens bigint,
      cache_write_tokens bigint, step_count bigint, actor jsonb, actor_id text, actor_place text, run_tags jsonb,
      ttl_ms bigint, heartbeat_every_ms bigint, result jsonb, result_place text, error_message text, error_place text,
      end_status text, agent_end_status text, agent_end_place text, parent_place text
    );
  `.execute(db);
}
