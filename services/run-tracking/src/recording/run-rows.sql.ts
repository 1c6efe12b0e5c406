/** How the run itself says that it ended. Rows from before there was a column for it have it in `status`. */
const END_STATUS = `case when r.end_place > excluded.end_place or excluded.end_place is null
        then coalesce(r.end_status, case when r.end_place is not null then r.status end) else excluded.end_status end`;
/** How the agent inside it that ended last says that it ended. */
const AGENT_END_STATUS = `case when r.agent_end_place > excluded.agent_end_place or excluded.agent_end_place is null
        then r.agent_end_status else excluded.agent_end_status end`;

/**
 * From `$1`, an array of `run_row_2`, to `run_rows` (what these runs are now) and `run_moves`
 * (what that moves between agents and their days).
 *
 * A run that was deleted has no agent here: the statement fails, and its events are told apart (`INSERT_MISSING_EVENTS`).
 *
 * A run's share of its start day can move to another day or agent when an earlier event arrives. The update leaves what
 * the row added so far in `was`, computed from the row version it replaced (not from a snapshot), and the day totals
 * take that back.
 */
export const runRows = (after: string): string => `
run_rows as (
  insert into runs as r (tenant_id, run_id, agent_id, first_place, agent_name, name_place, model, provider, model_place,
    status, ended_at, end_place, session_id, parent_run_id, parent_tool_use_id, started_at, last_event_at, event_count,
    error_count, tool_call_count, tool_error_count, llm_call_count, input_tokens, output_tokens, total_tokens, cost_usd,
    unpriced_count, tags, updated_at, cache_read_tokens, cache_write_tokens, step_count, actor, actor_id, actor_place,
    run_tags, ttl_ms, heartbeat_every_ms, result, result_place, error_message, error_place,
    end_status, agent_end_status, agent_end_place, parent_place)
  select tenant_id, run_id, case when gone.deleted_at is null then agent_id end, first_place, agent_name, name_place, model, provider, model_place,
    status, ended_at::timestamptz, end_place, session_id, parent_run_id, parent_tool_use_id, started_at::timestamptz,
    last_event_at::timestamptz, event_count, error_count, tool_call_count, tool_error_count, llm_call_count,
    input_tokens, output_tokens, total_tokens, cost_usd::numeric, unpriced_count, tags, now(), cache_read_tokens,
    cache_write_tokens, step_count, actor, actor_id, actor_place, run_tags, ttl_ms, heartbeat_every_ms, result,
    result_place, error_message, error_place, end_status, agent_end_status, agent_end_place,
    parent_place
  from unnest($1::run_row_2[]) as told left join deleted_runs as gone using (tenant_id, run_id) ${after}
  order by tenant_id, run_id
  on conflict (tenant_id, run_id) do update set
    agent_id = case when r.first_place < excluded.first_place then r.agent_id else excluded.agent_id end,
    first_place = least(r.first_place, excluded.first_place),
    agent_name = case when r.name_place > excluded.name_place or excluded.name_place is null
      then r.agent_name else excluded.agent_name end,
    name_place = greatest(r.name_place, excluded.name_place),
    model = case when r.model_place > excluded.model_place or excluded.model_place is null
      then r.model else excluded.model end,
    provider = case when r.model_place > excluded.model_place or excluded.model_place is null
      then r.provider else excluded.provider end,
    model_place = greatest(r.model_place, excluded.model_place),
    -- What the sweeper said of a run that did not end itself is undone by whatever speaks against it.
    status = case when r.killed_at is not null then 'killed'
      when r.end_place is null and excluded.end_place is null then
        case when r.status = 'lost' or r.agent_end_place is not null or excluded.ttl_ms > r.ttl_ms then 'running'
          else r.status end
      when ${END_STATUS} = 'failed' then 'failed'
      else coalesce(${AGENT_END_STATUS}, ${END_STATUS}) end,
    end_status = ${END_STATUS},
    agent_end_status = ${AGENT_END_STATUS},
    agent_end_place = greatest(r.agent_end_place, excluded.agent_end_place),
    ended_at = case when r.end_place > excluded.end_place or excluded.end_place is null
      then r.ended_at else excluded.ended_at end,
    end_place = greatest(r.end_place, excluded.end_place),
    session_id = least(r.session_id collate "C", excluded.session_id),
    parent_run_id = case when r.parent_run_id is null or excluded.parent_place < r.parent_place
      then excluded.parent_run_id else r.parent_run_id end,
    parent_tool_use_id = case when r.parent_run_id is null or excluded.parent_place < r.parent_place
      then excluded.parent_tool_use_id else r.parent_tool_use_id end,
    parent_place = case when r.parent_run_id is null or excluded.parent_place < r.parent_place
      then excluded.parent_place else r.parent_place end,
    started_at = least(r.started_at, excluded.started_at),
    last_event_at = greatest(r.last_event_at, excluded.last_event_at),
    event_count = r.event_count + excluded.event_count, error_count = r.error_count + excluded.error_count,
    tool_call_count = r.tool_call_count + excluded.tool_call_count,
    tool_error_count = r.tool_error_count + excluded.tool_error_count,
    llm_call_count = r.llm_call_count + excluded.llm_call_count,
    input_tokens = r.input_tokens + excluded.input_tokens, output_tokens = r.output_tokens + excluded.output_tokens,
    total_tokens = r.total_tokens + excluded.total_tokens, cost_usd = r.cost_usd + excluded.cost_usd,
    unpriced_count = r.unpriced_count + excluded.unpriced_count,
    tags = case when excluded.tags <@ r.tags then r.tags else (
      select (array_agg(tag order by tag))[1:100]
      from (select distinct tag collate "C" as tag from unnest(r.tags || excluded.tags) as tag) as all_tags) end,
    updated_at = now(),
    cache_read_tokens = r.cache_read_tokens + excluded.cache_read_tokens,
    cache_write_tokens = r.cache_write_tokens + excluded.cache_write_tokens,
    step_count = r.step_count + excluded.step_count,
    actor = case when r.actor_place < excluded.actor_place or excluded.actor_place is null
      then r.actor else excluded.actor end,
    actor_id = case when r.actor_place < excluded.actor_place or excluded.actor_place is null
      then r.actor_id else excluded.actor_id end,
    actor_place = least(r.actor_place, excluded.actor_place),
    run_tags = case when excluded.run_tags <@ r.run_tags then r.run_tags else (
      select jsonb_object_agg(name, text) from (
        select key as name, max(value collate "C") as text, row_number() over (order by key collate "C") as nth
        from (select * from jsonb_each_text(r.run_tags) union all select * from jsonb_each_text(excluded.run_tags)) as together
        group by key) as named where nth <= 100) end,
    ttl_ms = greatest(r.ttl_ms, excluded.ttl_ms),
    heartbeat_every_ms = greatest(r.heartbeat_every_ms, excluded.heartbeat_every_ms),
    result = case when r.result_place > excluded.result_place or excluded.result_place is null
      then r.result else excluded.result end,
    result_place = greatest(r.result_place, excluded.result_place),
    error_message = case when r.error_place > excluded.error_place or excluded.error_place is null
      then r.error_message else excluded.error_message end,
    error_place = greatest(r.error_place, excluded.error_place),
    was = jsonb_build_object(
      'agent', r.agent_id, 'day', (r.started_at at time zone 'UTC')::date,
      'failed', (r.error_count > 0 or r.status = 'failed')::int,
      'completed', (r.status in ('succeeded', 'cancelled'))::int,
      'ms', (extract(epoch from coalesce(r.ended_at, r.last_event_at) - r.started_at) * 1000)::bigint,
      'usd', r.cost_usd)
  returning tenant_id, run_id, agent_id, status, started_at, last_event_at, ended_at, error_count, cost_usd, was
),
run_moves as materialized (
  select tenant_id, agent_id, (started_at at time zone 'UTC')::date as day, 1 as runs,
    (error_count > 0 or status = 'failed')::int as failed, (status in ('succeeded', 'cancelled'))::int as completed,
    (extract(epoch from coalesce(ended_at, last_event_at) - started_at) * 1000)::bigint as ms, cost_usd as usd
  from run_rows
  union all
  select tenant_id, was->>'agent', (was->>'day')::date, -1, -(was->>'failed')::int, -(was->>'completed')::int,
    -(was->>'ms')::bigint, -(was->>'usd')::numeric
  from run_rows where was is not null
)`;
