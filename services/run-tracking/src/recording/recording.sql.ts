import { ACTIVITY_OF_EVENTS } from '../activity.ts';

/** Tools of the row and of the addition, the later definition of each, up to the maximum. */
const MERGED_TOOLS = `(
        select name, tool, place, row_number() over (order by name) as nth
        from (
          select distinct on (name) name, tool, place
          from (
            select (tool->>'name') collate "C" as name, tool, (a.tool_places->>(tool->>'name')) collate "C" as place
            from jsonb_array_elements(a.tools) as tool
            union all
            select (tool->>'name') collate "C", tool, (excluded.tool_places->>(tool->>'name')) collate "C"
            from jsonb_array_elements(excluded.tools) as tool
          ) as each_tool order by name, place desc
        ) as newest
      ) as counted where nth <= 1000`;

/** From `$2`, an array of `agent_row`, and `run_moves` to `agent_rows`. */
const AGENT_ROWS = `
agent_rows as (
  insert into agents as a (tenant_id, agent_id, name, name_place, first_seen_at, last_seen_at, run_count, event_count,
    error_count, cost_usd, slug, description, description_place, tags, tags_place, tools, tool_places)
  select tenant_id, agent_id, name, name_place, coalesce(first_seen_at::timestamptz, 'infinity'),
    coalesce(last_seen_at::timestamptz, '-infinity'),
    coalesce(moved.runs, 0), coalesce(event_count, 0), coalesce(error_count, 0), coalesce(cost_usd::numeric, 0), slug,
    description, description_place, coalesce(tags, '{}'), tags_place, coalesce(tools, '[]'), coalesce(tool_places, '{}')
  from unnest($2::agent_row[]) as counted
  full join (
    select tenant_id, agent_id, sum(runs) as runs from run_moves group by tenant_id, agent_id having sum(runs) <> 0
  ) as moved using (tenant_id, agent_id)
  order by tenant_id, agent_id
  on conflict (tenant_id, agent_id) do update set
    name = case when a.name_place > excluded.name_place or excluded.name_place is null then a.name else excluded.name end,
    name_place = greatest(a.name_place, excluded.name_place),
    first_seen_at = least(a.first_seen_at, excluded.first_seen_at),
    last_seen_at = greatest(a.last_seen_at, excluded.last_seen_at),
    run_count = a.run_count + excluded.run_count, event_count = a.event_count + excluded.event_count,
    error_count = a.error_count + excluded.error_count, cost_usd = a.cost_usd + excluded.cost_usd,
    slug = least(a.slug collate "C", excluded.slug),
    description = case when a.description_place > excluded.description_place or excluded.description_place is null
      then a.description else excluded.description end,
    description_place = greatest(a.description_place, excluded.description_place),
    tags = case when a.tags_place > excluded.tags_place or excluded.tags_place is null then a.tags else excluded.tags end,
    tags_place = greatest(a.tags_place, excluded.tags_place),
    -- Few events register tools. The others skip both lookups.
    tools = case when excluded.tools = '[]' then a.tools else (
      select jsonb_agg(tool order by name) from ${MERGED_TOOLS}) end,
    tool_places = case when excluded.tools = '[]' then a.tool_places else (
      select jsonb_object_agg(name, place) from ${MERGED_TOOLS}) end
  returning 1
)`;

/** From `$3`, an array of `day_row` by minute, and `run_moves` to rows of days, minutes and hours. */
const DAY_ROWS = `,
minute_rows as materialized (select * from unnest($3::day_row[])),
day_rows as (
  insert into agent_daily as d (tenant_id, agent_id, day, event_count, error_count, tool_call_count, tool_error_count,
    llm_call_count, input_tokens, output_tokens, cost_usd, run_count, run_error_count, run_succeeded_count,
    run_duration_ms, run_cost_usd)
  select tenant_id, agent_id, day, coalesce(event_count, 0), coalesce(error_count, 0), coalesce(tool_call_count, 0),
    coalesce(tool_error_count, 0), coalesce(llm_call_count, 0), coalesce(input_tokens, 0), coalesce(output_tokens, 0),
    coalesce(cost_usd, 0), coalesce(runs, 0), coalesce(failed, 0), coalesce(completed, 0), coalesce(ms, 0),
    coalesce(usd, 0)
  from (
    select tenant_id, agent_id, left(day, 10)::date as day, sum(event_count) as event_count,
      sum(error_count) as error_count, sum(tool_call_count) as tool_call_count,
      sum(tool_error_count) as tool_error_count, sum(llm_call_count) as llm_call_count,
      sum(input_tokens) as input_tokens, sum(output_tokens) as output_tokens, sum(cost_usd::numeric) as cost_usd
    from minute_rows group by 1, 2, 3
  ) as counted
  full join (
    select tenant_id, agent_id, day, sum(runs) as runs, sum(failed) as failed, sum(completed) as completed,
      sum(ms) as ms, sum(usd) as usd
    from run_moves group by tenant_id, agent_id, day
  ) as moved using (tenant_id, agent_id, day)
  -- Always true. Makes Postgres update agents before their days.
  where (select count(*) from agent_rows) >= 0
  order by tenant_id, agent_id, day
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
  returning 1
)
${ACTIVITY_OF_EVENTS}`;

/** Rows are inserted in key order, so that two writers of the same events wait for each other without a deadlock. */
const COLUMNS = `tenant_id, occurred_at, event_id, run_id, agent_id, session_id, kind, dialect, source_type, severity,
    is_error, tool_name, call_id, model, provider, input_tokens, output_tokens, total_tokens, cost_usd, cost_source,
    latency_ms, tags, payload, metadata, hash, received_at, pricing`;

/** Members of the usage that the column `pricing` holds. */
export const PRICING = [
  ...(['cacheReadTokens', 'cacheWriteTokens', 'cacheWrite1hTokens', 'reasoningTokens'] as const),
  ...(['audioInputTokens', 'audioOutputTokens', 'serviceTier', 'computedCostUsd', 'priceRef'] as const),
  ...(['unpricedReason', 'estimatedCostUsd', 'feesUsd', 'approximation', 'countsFrom', 'reportedBy'] as const),
  ...(['cacheReadAudioTokens', 'webSearches', 'fileSearches'] as const),
];

/** Inserts events from `rows`, an array of `event_row_2`. Fails with a unique violation on a duplicate. */
const insertNewEvents = (rows: string): string => `
  insert into events (${COLUMNS})
  select tenant_id, occurred_at::timestamptz as occurred_at, event_id, run_id, agent_id, session_id, kind, dialect,
    source_type, severity, is_error, tool_name, call_id, model, provider, input_tokens, output_tokens, total_tokens,
    cost_usd::numeric(24,12), cost_source, latency_ms, coalesce(tags, '{}'), payload, metadata, hash,
    received_at::timestamptz, pricing
  from unnest(${rows}::event_row_2[])
  order by occurred_at, event_id collate "C", tenant_id
  returning 1`;

/**
 * Inserts the missing events of a chunk and returns their keys. `$1` is a JSON array of batches (`EventBatch`) as
 * published. Skips events of deleted runs.
 */
export const INSERT_MISSING_EVENTS = `
  insert into events (${COLUMNS})
  select b."tenantId", e."occurredAt", e.id, e."runId", e."agentId", e."sessionId", e.kind, e.dialect, e."sourceType",
    e.severity, e."isError", e."toolName", e."callId", e.model, e.provider,
    (e.usage->>'inputTokens')::numeric::bigint, (e.usage->>'outputTokens')::numeric::bigint,
    (e.usage->>'totalTokens')::numeric::bigint, (e.usage->>'costUsd')::numeric(24,12), e.usage->>'costSource',
    (e.usage->>'latencyMs')::double precision, coalesce(e.tags, '{}'), e.payload, e.metadata, e.hash, b."receivedAt",
    case when e.usage ? 'costSource' then (
      select jsonb_object_agg(key, value) from jsonb_each(e.usage) where key in (${PRICING.map((name) => `'${name}'`).join(', ')})
    ) end
  from jsonb_to_recordset($1::jsonb) as b("tenantId" text, "receivedAt" timestamptz, events jsonb)
  cross join lateral jsonb_to_recordset(b.events) as e(
    id text, "agentId" text, "runId" text, "sessionId" text, kind text, dialect text, "sourceType" text, severity text,
    "isError" boolean, "occurredAt" timestamptz, hash text, "toolName" text, "callId" text, model text, provider text,
    usage jsonb, tags text[], payload jsonb, metadata jsonb)
  where not exists (
    select from deleted_runs as gone where gone.tenant_id = b."tenantId" and gone.run_id = e."runId")
  order by e."occurredAt", e.id collate "C", b."tenantId"
  on conflict (tenant_id, occurred_at, event_id) do nothing
  returning tenant_id as "tenantId", occurred_at as "occurredAt", event_id as id`;

/** Number of events of the chunk `$1` that belong to deleted runs. */
export const COUNT_DELETED = `
  select count(*)::int as deleted
  from jsonb_to_recordset($1::jsonb) as b("tenantId" text, events jsonb)
  cross join lateral jsonb_to_recordset(b.events) as e("runId" text)
  join deleted_runs as gone on gone.tenant_id = b."tenantId" and gone.run_id = e."runId"`;

/** The end that the run itself reported. Rows from before this column have it in `status`. */
const END_STATUS = `case when r.end_place > excluded.end_place or excluded.end_place is null
        then coalesce(r.end_status, case when r.end_place is not null then r.status end) else excluded.end_status end`;
/** The end that the last agent inside the run reported. */
const AGENT_END_STATUS = `case when r.agent_end_place > excluded.agent_end_place or excluded.agent_end_place is null
        then r.agent_end_status else excluded.agent_end_status end`;

/**
 * From `$1`, an array of `run_row_2`, to `run_rows` (the runs after the update) and `run_moves` (what moves between
 * agents and days).
 *
 * For a deleted run the agent is null, so the statement fails and `INSERT_MISSING_EVENTS` takes over.
 *
 * An earlier event can move a run's share to another day or agent. The update keeps the previous share in `was`,
 * computed from the row version that it replaced (not from a snapshot), and the day totals subtract it.
 */
const runRows = (after: string): string => `
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
  from unnest($1::run_row_2[]) as counted left join deleted_runs as gone using (tenant_id, run_id) ${after}
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
    -- A later event overrides the status that the sweeper gave to a run without an end of its own.
    status = case when r.killed_at is not null then 'killed'
      when r.end_place is null and excluded.end_place is null then
        case when r.status = 'lost' or r.agent_end_place is not null or excluded.ttl_ms > r.ttl_ms then 'running'
          else r.status end
      when ${END_STATUS} = 'failed' then 'failed'
      when r.ended_by is not null and coalesce(${AGENT_END_STATUS}, ${END_STATUS}) = 'succeeded' then 'interrupted'
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
        from (select * from jsonb_each_text(r.run_tags) union all select * from jsonb_each_text(excluded.run_tags)) as merged
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

/**
 * Adds the totals of events that the same transaction inserted. `$1`, `$2` and `$3` are rows of runs, agents and minutes.
 *
 * All writers touch rows in one order (events, runs, agents, days, activity, each by key), and each step reads the one before it,
 * so replicas wait for each other without a deadlock. Updates are commutative: sums, least and greatest, and the later
 * event by its place (`<occurred_at>/<event_id>`).
 */
export const ADD_TOTALS = `with ${runRows('')}, ${AGENT_ROWS}${DAY_ROWS}`;

/** Inserts new events, `$4`, and adds their totals in one statement. Fails with a unique violation on a duplicate. */
export const RECORD_NEW_EVENTS = `
with stored as (${insertNewEvents('$4')}),
${
  // always true: orders events before runs
  runRows('where (select count(*) from stored) >= 0')
},
${AGENT_ROWS}${DAY_ROWS}`;

/**
 * Number of events of the chunk `$1`, a JSON array of batches, that are stored with other contents under the same id,
 * time and run. The run is part of the condition so that either index finds the row, even in a partition without
 * statistics.
 */
export const COUNT_CONFLICTS = `
with known as materialized (
  select b."tenantId" as tenant_id, e."occurredAt" as occurred_at, e.id as event_id, e."runId" as run_id, e.hash
  from jsonb_to_recordset($1::jsonb) as b("tenantId" text, events jsonb)
  cross join lateral jsonb_to_recordset(b.events) as e("occurredAt" timestamptz, id text, "runId" text, hash text)
)
select count(*)::int as conflicts from known k where (
  select e.hash from events e
  where e.tenant_id = k.tenant_id and e.occurred_at = k.occurred_at and e.event_id = k.event_id
    and e.run_id = k.run_id) <> k.hash`;
