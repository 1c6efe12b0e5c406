/** A whole number of milliseconds up to about thirty years, of a payload; what is none is no interval. */
const interval = (name: string) => `case when jsonb_typeof(payload->'${name}') = 'number' then
      case when (payload->>'${name}')::numeric between 1 and 1e12 then round((payload->>'${name}')::numeric)::bigint end end`;

/** An id of a payload. */
const idText = (name: string) => `case when jsonb_typeof(payload->'${name}') = 'string'
      and char_length(payload->>'${name}') between 1 and 256 then payload->>'${name}' end`;

/** From `fresh` to `run_rows` (what runs are now) and `run_moves` (what that moves between agents and their days). */
export const RUN_ROWS = `
run_input as (
  select tenant_id, run_id,
    (array_agg(agent_id order by first_place))[1] as agent_id, min(first_place) as first_place,
    (array_agg(agent_name order by last_place desc) filter (where agent_name is not null))[1] as agent_name,
    max(last_place) filter (where agent_name is not null) as name_place,
    (array_agg(model order by last_place desc) filter (where model is not null))[1] as model,
    (array_agg(provider order by last_place desc) filter (where model is not null))[1] as provider,
    max(last_place) filter (where model is not null) as model_place,
    min(session_id collate "C") as session_id, min(parent_run_id collate "C") as parent_run_id,
    min(parent_tool_use_id collate "C") as parent_tool_use_id,
    min(first_at) as started_at, max(last_at) as last_event_at,
    sum(events) as event_count, sum(errors) as error_count, sum(tool_calls) as tool_call_count,
    sum(tool_errors) as tool_error_count, sum(llm_calls) as llm_call_count, sum(input_tokens) as input_tokens,
    sum(output_tokens) as output_tokens, sum(total_tokens) as total_tokens,
    sum(cache_read_tokens) as cache_read_tokens, sum(cache_write_tokens) as cache_write_tokens,
    sum(cost_usd) as cost_usd, sum(unpriced) as unpriced_count, sum(steps) as step_count
  -- A registration is no part of any run, although it names one as every event does.
  from cells where kind <> 'agent.registered' group by tenant_id, run_id
),
moments as materialized (
  select tenant_id, run_id, place,
    case when kind = 'run.ended' then coalesce(outcome, case when is_error then 'failed' else 'succeeded' end) end as outcome,
    occurred_at as ended_at,
    case when kind = 'run.started' and char_length(payload#>>'{actor,externalId}') between 1 and 256
      and jsonb_typeof(payload#>'{actor,externalId}') = 'string' then payload->'actor' end as actor,
    case when kind = 'run.started' and jsonb_typeof(payload->'tags') = 'object' then payload->'tags' end as named_tags,
    case when kind = 'run.started' then ${interval('runTtlMs')} end as ttl_ms,
    case when kind = 'run.started' then ${interval('heartbeatEveryMs')} end as heartbeat_every_ms,
    case when kind = 'run.started' and parent_run_id is null then ${idText('parentRunId')} end as parent_run_id,
    case when kind = 'run.started' and parent_tool_use_id is null then ${idText('parentToolUseId')} end as parent_tool_use_id,
    case when kind = 'run.ended' then
      coalesce(nullif(payload->'result', 'null'), nullif(payload->'summary', 'null')) end as result,
    case when kind <> 'run.ended' then null
      when jsonb_typeof(payload->'error') = 'string' then left(payload->>'error', 2000)
      when jsonb_typeof(payload#>'{error,message}') = 'string' then left(payload#>>'{error,message}', 2000)
    end as error_message
  from fresh where kind in ('run.started', 'run.ended')
),
run_said as (
  select tenant_id, run_id,
    (array_agg(outcome order by place desc) filter (where outcome is not null))[1] as outcome,
    (array_agg(ended_at order by place desc) filter (where outcome is not null))[1] as ended_at,
    max(place) filter (where outcome is not null) as end_place,
    (array_agg(actor order by place) filter (where actor is not null))[1] as actor,
    min(place) filter (where actor is not null) as actor_place,
    max(ttl_ms) as ttl_ms, max(heartbeat_every_ms) as heartbeat_every_ms,
    min(parent_run_id collate "C") as parent_in_payload, min(parent_tool_use_id collate "C") as tool_use_in_payload,
    (array_agg(result order by place desc) filter (where result is not null))[1] as result,
    max(place) filter (where result is not null) as result_place,
    (array_agg(error_message order by place desc) filter (where error_message is not null))[1] as error_message,
    max(place) filter (where error_message is not null) as error_place
  from moments group by tenant_id, run_id
),
run_named_tags as (
  select tenant_id, run_id, jsonb_object_agg(name, text) as run_tags
  from (
    select tenant_id, run_id, key as name, max(value #>> '{}' collate "C") as text,
      row_number() over (partition by tenant_id, run_id order by key collate "C") as nth
    from moments cross join lateral jsonb_each(named_tags)
    where jsonb_typeof(value) = 'string' group by tenant_id, run_id, key
  ) as named where nth <= 100 group by tenant_id, run_id
),
run_tags as (
  select tenant_id, run_id, array_agg(distinct tag collate "C") as tags
  from fresh cross join lateral unnest(tags) as tag where tags <> '{}' and kind <> 'agent.registered' group by tenant_id, run_id
),
run_rows as (
  insert into runs as r (tenant_id, run_id, agent_id, first_place, agent_name, name_place, model, provider, model_place,
    status, ended_at, end_place, session_id, parent_run_id, parent_tool_use_id, started_at, last_event_at, event_count,
    error_count, tool_call_count, tool_error_count, llm_call_count, input_tokens, output_tokens, total_tokens, cost_usd,
    unpriced_count, tags, updated_at, cache_read_tokens, cache_write_tokens, step_count, actor, actor_id, actor_place,
    run_tags, ttl_ms, heartbeat_every_ms, result, result_place, error_message, error_place)
  select tenant_id, run_id, agent_id, first_place, agent_name, name_place, model, provider, model_place,
    coalesce(outcome, 'running'), ended_at, end_place, session_id,
    least(parent_run_id, parent_in_payload), least(parent_tool_use_id, tool_use_in_payload), started_at,
    last_event_at, event_count, error_count, tool_call_count, tool_error_count, llm_call_count, input_tokens,
    output_tokens, total_tokens, cost_usd, unpriced_count, coalesce(tags[1:100], '{}'), now(), cache_read_tokens,
    cache_write_tokens, step_count, actor, actor->>'externalId', actor_place, coalesce(run_tags, '{}'), ttl_ms,
    heartbeat_every_ms, result, result_place, error_message, error_place
  from run_input left join run_tags using (tenant_id, run_id) left join run_said using (tenant_id, run_id)
    left join run_named_tags using (tenant_id, run_id)
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
    -- What the sweeper said of a run that nobody ended is undone by whatever speaks against it.
    status = case when r.end_place is null and excluded.end_place is null then
        case when r.status = 'lost' or excluded.ttl_ms > r.ttl_ms then 'running' else r.status end
      when r.end_place > excluded.end_place or excluded.end_place is null then r.status else excluded.status end,
    ended_at = case when r.end_place > excluded.end_place or excluded.end_place is null
      then r.ended_at else excluded.ended_at end,
    end_place = greatest(r.end_place, excluded.end_place),
    session_id = least(r.session_id collate "C", excluded.session_id),
    parent_run_id = least(r.parent_run_id collate "C", excluded.parent_run_id),
    parent_tool_use_id = least(r.parent_tool_use_id collate "C", excluded.parent_tool_use_id),
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
