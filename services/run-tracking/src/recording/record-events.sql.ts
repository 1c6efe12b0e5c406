import { AGENT_ROWS } from './agent-rows.sql.ts';
import { RUN_ROWS } from './run-rows.sql.ts';

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
 * A start or an end says more of its run than its columns do (actor, tags, time to live, result), and a registration more
 * of its agent (slug, tools): those few events are looked into apart, so that the many others cost nothing for it.
 *
 * libs/runs holds the same rules as a pure fold; a property test keeps the two in agreement.
 */
export const RECORD_EVENTS = `
with input as materialized (
  select distinct on (occurred_at, e.id collate "C", tenant_id)
    b."tenantId" as tenant_id, e."occurredAt"::timestamptz as occurred_at, e.id as event_id,
    e."occurredAt" as occurred_text, e."runId" as run_id, e."agentId" as agent_id, e."sessionId" as session_id,
    e."parentRunId" as parent_run_id, e."parentToolUseId" as parent_tool_use_id, e.kind, e.dialect,
    e."sourceType" as source_type, e.severity, e."isError" as is_error, e."agentName" as agent_name,
    e."toolName" as tool_name, e."callId" as call_id, e.model, e.provider, e.outcome,
    (e.usage->>'inputTokens')::numeric::bigint as input_tokens,
    (e.usage->>'outputTokens')::numeric::bigint as output_tokens,
    (e.usage->>'totalTokens')::numeric::bigint as total_tokens,
    (e.usage->>'cacheReadTokens')::numeric::bigint as cache_read_tokens,
    (e.usage->>'cacheWriteTokens')::numeric::bigint as cache_write_tokens,
    (e.usage->>'costUsd')::numeric(14,6) as cost_usd,
    e.usage->>'costSource' as cost_source,
    (e.usage->>'latencyMs')::double precision as latency_ms,
    coalesce(e.tags, '{}') as tags, e.payload, e.metadata, e.hash, b."receivedAt" as received_at
  from jsonb_to_recordset($1::jsonb) as b("tenantId" text, "receivedAt" timestamptz, events jsonb)
  cross join lateral jsonb_to_recordset(b.events) as e(
    id text, "agentId" text, "runId" text, "sessionId" text, "parentRunId" text, "parentToolUseId" text, kind text,
    dialect text, "sourceType" text, severity text, "isError" boolean, "occurredAt" text, hash text,
    "agentName" text, "toolName" text, "callId" text, model text, provider text, outcome text, usage jsonb,
    tags text[], payload jsonb, metadata jsonb)
  order by occurred_at, e.id collate "C", tenant_id
),
stored as (
  insert into events (tenant_id, occurred_at, event_id, run_id, agent_id, session_id, kind, dialect, source_type,
    severity, is_error, tool_name, call_id, model, provider, input_tokens, output_tokens, total_tokens, cost_usd,
    cost_source, latency_ms, tags, payload, metadata, hash, received_at)
  select tenant_id, occurred_at, event_id, run_id, agent_id, session_id, kind, dialect, source_type,
    severity, is_error, tool_name, call_id, model, provider, input_tokens, output_tokens, total_tokens, cost_usd,
    cost_source, latency_ms, tags, payload, metadata, hash, received_at
  from input
  on conflict (tenant_id, occurred_at, event_id) do nothing
  returning tenant_id, occurred_at, event_id
),
fresh as materialized (
  -- As text the instant is written in one form only (\`Instant\`), so its parts need no calendar.
  select i.*, (left(i.occurred_text, 23) || '/' || i.event_id) collate "C" as place
  from input i join stored s using (tenant_id, occurred_at, event_id)
),
-- One pass over the events; runs, agents and days are sums of these few rows.
cells as materialized (
  select *,
    -- Clients of Handlebar report a call once, when it is over.
    case kind when case dialect when 'handlebar' then 'tool.completed' else 'tool.called' end then events else 0 end
      as tool_calls,
    case kind when 'tool.completed' then errors else 0 end as tool_errors,
    case kind when 'tool.completed' then events else 0 end as steps,
    case kind when case dialect when 'handlebar' then 'llm.completed' else 'llm.called' end then events else 0 end
      as llm_calls
  from (
    select tenant_id, run_id, agent_id, left(occurred_text, 10)::date as day, kind, dialect, agent_name, model, provider,
      session_id, parent_run_id, parent_tool_use_id,
      min(place) as first_place, max(place) as last_place, min(occurred_at) as first_at, max(occurred_at) as last_at,
      count(*) as events, count(*) filter (where is_error) as errors,
      coalesce(sum(input_tokens), 0) as input_tokens, coalesce(sum(output_tokens), 0) as output_tokens,
      coalesce(sum(total_tokens), 0) as total_tokens, coalesce(sum(cache_read_tokens), 0) as cache_read_tokens,
      coalesce(sum(cache_write_tokens), 0) as cache_write_tokens, coalesce(sum(cost_usd), 0) as cost_usd,
      count(*) filter (where cost_source = 'unpriced') as unpriced
    from fresh group by 1, 2, 3, left(occurred_text, 10), 5, 6, 7, 8, 9, 10, 11, 12
  ) as counted
),
${RUN_ROWS},
${AGENT_ROWS},
day_input as (
  select tenant_id, agent_id, day, sum(events) as event_count, sum(errors) as error_count,
    sum(tool_calls) as tool_call_count, sum(tool_errors) as tool_error_count, sum(llm_calls) as llm_call_count,
    sum(input_tokens) as input_tokens, sum(output_tokens) as output_tokens, sum(cost_usd) as cost_usd,
    sum(runs) as run_count, sum(failed) as run_error_count, sum(completed) as run_succeeded_count,
    sum(ms) as run_duration_ms, sum(usd) as run_cost_usd
  from (
    select tenant_id, agent_id, day, events, errors, tool_calls, tool_errors, llm_calls, input_tokens, output_tokens,
      cost_usd, 0 as runs, 0 as failed, 0 as completed, 0 as ms, 0 as usd
    from cells
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
)
select (select count(*) from stored)::int as stored,
  (select coalesce(json_agg(json_build_array(tenant_id, run_id)), '[]') from run_rows) as runs
`;
