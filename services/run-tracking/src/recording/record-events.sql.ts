/**
 * Stores a chunk of batches and moves every total that follows from it, in one statement: what is counted is what was
 * inserted, so an event that comes again, in whatever company, changes nothing.
 *
 * `$1` is a JSON array of batches (`EventBatch`), as they came from the bus.
 *
 * Rows are touched in one order everywhere (events by key, then runs, agents and days by key), and each step reads the
 * one before it, so replicas wait for each other but never in a circle. Every update is commutative: sums, least and
 * greatest, and "the later event decides" by its place (`<occurred_at>/<event_id>`).
 *
 * A run's share of its start day can move to another day or agent when an earlier event arrives. The update leaves what
 * the row added so far in `was`, computed from the row version it replaced (not from a snapshot), and the day totals
 * take that back.
 *
 * libs/runs holds the same rules as a pure fold; a property test keeps the two in agreement.
 */
export const RECORD_EVENTS = `
with input as materialized (
  select distinct on (b."tenantId", e."occurredAt", e.id)
    b."tenantId" as tenant_id, e."occurredAt" as occurred_at, e.id as event_id, e."runId" as run_id,
    e."agentId" as agent_id, e."sessionId" as session_id, e."parentRunId" as parent_run_id,
    e."parentToolUseId" as parent_tool_use_id, e.kind, e.dialect, e."sourceType" as source_type, e.severity,
    e."isError" as is_error, e."agentName" as agent_name, e."toolName" as tool_name, e."callId" as call_id,
    e.model, e.provider, e.outcome,
    round((e.usage->>'inputTokens')::numeric)::bigint as input_tokens,
    round((e.usage->>'outputTokens')::numeric)::bigint as output_tokens,
    round((e.usage->>'totalTokens')::numeric)::bigint as total_tokens,
    (e.usage->>'costUsd')::numeric(14,6) as cost_usd,
    e.usage->>'costSource' as cost_source,
    (e.usage->>'latencyMs')::double precision as latency_ms,
    coalesce(e.tags, '{}') as tags, e.payload, e.metadata, e.hash, b."receivedAt" as received_at
  from jsonb_to_recordset($1::jsonb) as b("tenantId" text, "receivedAt" timestamptz, events jsonb)
  cross join lateral jsonb_to_recordset(b.events) as e(
    id text, "agentId" text, "runId" text, "sessionId" text, "parentRunId" text, "parentToolUseId" text, kind text,
    dialect text, "sourceType" text, severity text, "isError" boolean, "occurredAt" timestamptz, hash text,
    "agentName" text, "toolName" text, "callId" text, model text, provider text, outcome text, usage jsonb,
    tags text[], payload jsonb, metadata jsonb)
  order by 1, 2, 3
),
stored as (
  insert into events (tenant_id, occurred_at, event_id, run_id, agent_id, session_id, kind, dialect, source_type,
    severity, is_error, tool_name, call_id, model, provider, input_tokens, output_tokens, total_tokens, cost_usd,
    cost_source, latency_ms, tags, payload, metadata, hash, received_at)
  select tenant_id, occurred_at, event_id, run_id, agent_id, session_id, kind, dialect, source_type,
    severity, is_error, tool_name, call_id, model, provider, input_tokens, output_tokens, total_tokens, cost_usd,
    cost_source, latency_ms, tags, payload, metadata, hash, received_at
  from input order by tenant_id, occurred_at, event_id
  on conflict (tenant_id, occurred_at, event_id) do nothing
  returning tenant_id, occurred_at, event_id
),
fresh as materialized (
  select i.*,
    (to_char(i.occurred_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS') || '/' || i.event_id) collate "C" as place,
    (i.occurred_at at time zone 'UTC')::date as day,
    (i.kind = 'tool.called')::int as tool_call,
    (i.kind = 'tool.completed' and i.is_error)::int as tool_error,
    (i.kind = 'llm.called')::int as llm_call
  from input i join stored s using (tenant_id, occurred_at, event_id)
),
run_input as (
  select tenant_id, run_id,
    (array_agg(agent_id order by place))[1] as agent_id, min(place) as first_place,
    (array_agg(agent_name order by place desc) filter (where agent_name is not null))[1] as agent_name,
    max(place) filter (where agent_name is not null) as name_place,
    (array_agg(model order by place desc) filter (where model is not null))[1] as model,
    (array_agg(provider order by place desc) filter (where model is not null))[1] as provider,
    max(place) filter (where model is not null) as model_place,
    (array_agg(coalesce(outcome, case when is_error then 'failed' else 'succeeded' end) order by place desc)
      filter (where kind = 'run.ended'))[1] as outcome,
    (array_agg(occurred_at order by place desc) filter (where kind = 'run.ended'))[1] as ended_at,
    max(place) filter (where kind = 'run.ended') as end_place,
    min(session_id collate "C") as session_id, min(parent_run_id collate "C") as parent_run_id,
    min(parent_tool_use_id collate "C") as parent_tool_use_id,
    min(occurred_at) as started_at, max(occurred_at) as last_event_at,
    count(*) as event_count, count(*) filter (where is_error) as error_count,
    sum(tool_call) as tool_call_count, sum(tool_error) as tool_error_count, sum(llm_call) as llm_call_count,
    coalesce(sum(input_tokens), 0) as input_tokens, coalesce(sum(output_tokens), 0) as output_tokens,
    coalesce(sum(total_tokens), 0) as total_tokens, coalesce(sum(cost_usd), 0) as cost_usd,
    count(*) filter (where cost_source = 'unpriced') as unpriced_count
  from fresh group by tenant_id, run_id
),
run_tags as (
  select tenant_id, run_id, array_agg(distinct tag collate "C") as tags
  from fresh cross join lateral unnest(tags) as tag group by tenant_id, run_id
),
run_rows as (
  insert into runs as r (tenant_id, run_id, agent_id, first_place, agent_name, name_place, model, provider, model_place,
    status, ended_at, end_place, session_id, parent_run_id, parent_tool_use_id, started_at, last_event_at, event_count,
    error_count, tool_call_count, tool_error_count, llm_call_count, input_tokens, output_tokens, total_tokens, cost_usd,
    unpriced_count, tags, updated_at)
  select tenant_id, run_id, agent_id, first_place, agent_name, name_place, model, provider, model_place,
    coalesce(outcome, 'running'), ended_at, end_place, session_id, parent_run_id, parent_tool_use_id, started_at,
    last_event_at, event_count, error_count, tool_call_count, tool_error_count, llm_call_count, input_tokens,
    output_tokens, total_tokens, cost_usd, unpriced_count, coalesce(tags[1:100], '{}'), now()
  from run_input left join run_tags using (tenant_id, run_id) order by tenant_id, run_id
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
    status = case when r.end_place > excluded.end_place or excluded.end_place is null then r.status else excluded.status end,
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
),
agent_input as (
  select tenant_id, agent_id, min(occurred_at) as first_seen_at, max(occurred_at) as last_seen_at,
    (array_agg(agent_name order by place desc) filter (where agent_name is not null))[1] as name,
    max(place) filter (where agent_name is not null) as name_place,
    sum(runs) as run_count, sum(events) as event_count, sum(errors) as error_count, sum(cost_usd) as cost_usd
  from (
    select tenant_id, agent_id, occurred_at, agent_name, place, 0 as runs, 1 as events, is_error::int as errors,
      coalesce(cost_usd, 0) as cost_usd
    from fresh
    union all
    select tenant_id, agent_id, null, null, null, sum(runs), 0, 0, 0
    from run_moves group by tenant_id, agent_id having sum(runs) <> 0
  ) as parts
  group by tenant_id, agent_id
),
agent_rows as (
  insert into agents as a (tenant_id, agent_id, name, name_place, first_seen_at, last_seen_at, run_count, event_count,
    error_count, cost_usd)
  select tenant_id, agent_id, name, name_place, coalesce(first_seen_at, 'infinity'), coalesce(last_seen_at, '-infinity'),
    run_count, event_count, error_count, cost_usd
  from agent_input order by tenant_id, agent_id
  on conflict (tenant_id, agent_id) do update set
    name = case when a.name_place > excluded.name_place or excluded.name_place is null then a.name else excluded.name end,
    name_place = greatest(a.name_place, excluded.name_place),
    first_seen_at = least(a.first_seen_at, excluded.first_seen_at),
    last_seen_at = greatest(a.last_seen_at, excluded.last_seen_at),
    run_count = a.run_count + excluded.run_count, event_count = a.event_count + excluded.event_count,
    error_count = a.error_count + excluded.error_count, cost_usd = a.cost_usd + excluded.cost_usd
  returning 1
),
day_input as (
  select tenant_id, agent_id, day, sum(events) as event_count, sum(errors) as error_count,
    sum(tool_calls) as tool_call_count, sum(tool_errors) as tool_error_count, sum(llm_calls) as llm_call_count,
    sum(input_tokens) as input_tokens, sum(output_tokens) as output_tokens, sum(cost_usd) as cost_usd,
    sum(runs) as run_count, sum(failed) as run_error_count, sum(completed) as run_succeeded_count,
    sum(ms) as run_duration_ms, sum(usd) as run_cost_usd
  from (
    select tenant_id, agent_id, day, 1 as events, is_error::int as errors, tool_call as tool_calls,
      tool_error as tool_errors, llm_call as llm_calls, coalesce(input_tokens, 0) as input_tokens,
      coalesce(output_tokens, 0) as output_tokens, coalesce(cost_usd, 0) as cost_usd,
      0 as runs, 0 as failed, 0 as completed, 0 as ms, 0 as usd
    from fresh
    union all
    select tenant_id, agent_id, day, 0, 0, 0, 0, 0, 0, 0, 0, runs, failed, completed, ms, usd from run_moves
  ) as parts
  -- Always true; what it says is that the agents come before their days.
  where (select count(*) from agent_rows) >= 0
  group by tenant_id, agent_id, day
),
day_rows as (
  insert into agent_daily as d (tenant_id, agent_id, day, event_count, error_count, tool_call_count, tool_error_count,
    llm_call_count, input_tokens, output_tokens, cost_usd, run_count, run_error_count, run_succeeded_count,
    run_duration_ms, run_cost_usd)
  select * from day_input order by tenant_id, agent_id, day
  on conflict (tenant_id, agent_id, day) do update set
    event_count = d.event_count + excluded.event_count, error_count = d.error_count + excluded.error_count,
    tool_call_count = d.tool_call_count + excluded.tool_call_count,
    tool_error_count = d.tool_error_count + excluded.tool_error_count,
    llm_call_count = d.llm_call_count + excluded.llm_call_count,
    input_tokens = d.input_tokens + excluded.input_tokens, output_tokens = d.output_tokens + excluded.output_tokens,
    cost_usd = d.cost_usd + excluded.cost_usd, run_count = d.run_count + excluded.run_count,
    run_error_count = d.run_error_count + excluded.run_error_count,
    run_succeeded_count = d.run_succeeded_count + excluded.run_succeeded_count,
    run_duration_ms = d.run_duration_ms + excluded.run_duration_ms, run_cost_usd = d.run_cost_usd + excluded.run_cost_usd
),
known as materialized (
  select i.tenant_id, i.occurred_at, i.event_id, i.run_id, i.hash
  from input i left join stored s using (tenant_id, occurred_at, event_id) where s.event_id is null
)
select
  (select count(*) from stored)::int as stored,
  -- The same event id and time in the same run with other contents: the first one stays, and somebody should know. The
  -- run is named so that either index of events finds the row, also in a new partition that has no statistics yet.
  (select count(*) from known k where (
    select e.hash from events e
    where e.tenant_id = k.tenant_id and e.occurred_at = k.occurred_at and e.event_id = k.event_id
      and e.run_id = k.run_id) <> k.hash
  )::int as conflicts,
  (select coalesce(json_agg(json_build_array(tenant_id, run_id)), '[]') from run_rows) as runs
`;
