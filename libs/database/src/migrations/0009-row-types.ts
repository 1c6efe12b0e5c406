import { type Kysely, sql } from 'kysely';

/**
 * The rows that run-tracking sends, as types: an array of them in its binary form is read without parsing (ADR 13).
 * Instants and amounts of money are text, so that it is the server that reads them. Never alter one: a replica that
 * still runs sends the columns it has learned of. Make a new one.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create type event_row as (
      tenant_id text, occurred_at text, event_id text, run_id text, agent_id text, session_id text, kind text,
      dialect text, source_type text, severity text, is_error boolean, tool_name text, call_id text, model text,
      provider text, input_tokens bigint, output_tokens bigint, total_tokens bigint, cost_usd text, cost_source text,
      latency_ms double precision, tags text[], payload jsonb, metadata jsonb, hash text, received_at text
    );

    create type run_row as (
      tenant_id text, run_id text, agent_id text, first_place text, agent_name text, name_place text, model text,
      provider text, model_place text, status text, ended_at text, end_place text, session_id text, parent_run_id text,
      parent_tool_use_id text, started_at text, last_event_at text, event_count bigint, error_count bigint,
      tool_call_count bigint, tool_error_count bigint, llm_call_count bigint, input_tokens bigint, output_tokens bigint,
      total_tokens bigint, cost_usd text, unpriced_count bigint, tags text[], cache_read_tokens bigint,
      cache_write_tokens bigint, step_count bigint, actor jsonb, actor_id text, actor_place text, run_tags jsonb,
      ttl_ms bigint, heartbeat_every_ms bigint, result jsonb, result_place text, error_message text, error_place text
    );

    create type agent_row as (
      tenant_id text, agent_id text, name text, name_place text, first_seen_at text, last_seen_at text,
      event_count bigint, error_count bigint, cost_usd text, slug text, description text, description_place text,
      tags text[], tags_place text, tools jsonb, tool_places jsonb
    );

    create type day_row as (
      tenant_id text, agent_id text, day text, event_count bigint, error_count bigint, tool_call_count bigint,
      tool_error_count bigint, llm_call_count bigint, input_tokens bigint, output_tokens bigint, cost_usd text
    );
  `.execute(db);
}
