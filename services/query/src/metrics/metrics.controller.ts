import { type AnalyticsQuery, getMetrics, type RequestOf } from '@agentlens/operations';
import { type Caller, type Clock, CurrentCaller, FromRequest, port, Serves } from '@agentlens/platform';
import { Controller, Inject, Injectable } from '@nestjs/common';
import { type RawBuilder, sql } from 'kysely';
import { analyticsRange } from '../analytics/analytics.queries.ts';
import { type ReadOnly, TenantReads } from '../http/tenant-reads.ts';
import { type About, aligned, type CallFigures, callMetrics, type TaskFigures, taskMetrics } from './figures.ts';

/** Maximum number of agents, models and tools to show, each. The totals include the rest. */
const MAX_ROWS = 100;

interface CallRow extends About, CallFigures {
  readonly provider: string | null;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly costUsd: number;
}

type Scope = Omit<AnalyticsQuery, 'from' | 'to'> & {
  readonly tenantId: string;
  readonly from: string;
  readonly to: string;
};

/** Aggregates stored events and runs on each read. No separate counters exist that could disagree with them. */
@Injectable()
export class MetricsQueries {
  constructor(
    private readonly reads: TenantReads,
    @Inject(port('clock')) private readonly clock: Clock,
  ) {}

  async get(tenantId: string, query: AnalyticsQuery) {
    const range = analyticsRange(query, this.clock.now());
    const scope = { ...query, ...range, tenantId };
    return this.reads.read(tenantId, async (db) => {
      const tasks = await taskFigures(db, scope);
      const calls = await callFigures(db, scope);
      return {
        ...range,
        granularity: query.granularity,
        tasks: taskMetrics(tasks.find(({ by }) => by === 'all')),
        toolCalls: callMetrics(calls.find(({ by }) => by === 'all')),
        buckets: aligned('time', tasks, calls)
          .map(({ key, ...figures }) => ({ timestamp: key, ...figures }))
          .sort((a, b) => (a.timestamp < b.timestamp ? -1 : 1)),
        agents: aligned('agent', tasks, calls)
          .map(({ key, ...figures }) => ({ agentId: key, ...figures }))
          .sort((a, b) => b.tasks.started - a.tasks.started || b.toolCalls.calls - a.toolCalls.calls)
          .slice(0, MAX_ROWS),
        models: named('model', calls).map(({ name, row }) => ({
          model: name,
          provider: row.provider,
          calls: callMetrics(row),
          inputTokens: row.inputTokens,
          outputTokens: row.outputTokens,
          costUsd: row.costUsd,
        })),
        tools: named('tool', calls).map(({ name, row }) => ({ tool: name, calls: callMetrics(row) })),
      };
    });
  }
}

/** Drops calls without a tool name. The totals include them. */
function named(by: About['by'], rows: readonly CallRow[]) {
  return rows.flatMap((row) => (row.by === by && row.key !== null ? [{ name: row.key, row }] : []));
}

/** One pass over the runs that started in the range, for the total, the buckets and the agents. */
async function taskFigures(db: ReadOnly, scope: Scope) {
  const { rows } = await sql<About & TaskFigures>`
    select * from (
      select case grouping(bucket, agent_id) when 3 then 'all' when 1 then 'time' else 'agent' end as by,
        coalesce(${BUCKET_TEXT}, agent_id) as key,
        count(*) as started, count(*) filter (where is_over) as finished,
        count(*) filter (where status = 'succeeded') as succeeded,
        coalesce(sum(step_count) filter (where is_over), 0) as "finishedSteps",
        ${percentiles(sql`duration_ms`)} as duration,
        sum(input_tokens) as "inputTokens", sum(output_tokens) as "outputTokens", sum(total_tokens) as "totalTokens",
        sum(cache_read_tokens) as "cacheReadTokens", sum(cache_write_tokens) as "cacheWriteTokens",
        sum(cost_usd) as "costUsd",
        row_number() over (partition by grouping(bucket, agent_id) order by count(*) desc) as nth
      from (
        select *, ${bucketOf(scope, 'started_at')} as bucket, status <> 'running' as is_over,
          extract(epoch from ended_at - started_at)::double precision * 1000 as duration_ms
        from runs where ${inRange(scope, 'started_at')}
      ) as started
      group by grouping sets ((), (bucket), (agent_id))
    ) as figures
    where started > 0 and (by <> 'agent' or nth <= ${MAX_ROWS})`.execute(db);
  return rows;
}

/**
 * One pass over the calls that ended in the range: tool calls for the total, buckets, agents and tools; model calls for
 * models. Calls count when they end; model tokens and costs count on whichever event reported them, as in runs.
 */
async function callFigures(db: ReadOnly, scope: Scope) {
  const { rows } = await sql<CallRow>`
    with ended as materialized (
      select kind, agent_id, tool_name, model, provider, is_error, latency_ms, input_tokens, output_tokens, cost_usd,
        ${bucketOf(scope, 'occurred_at')} as bucket
      from events where ${inRange(scope, 'occurred_at')} and (kind = 'tool.completed' or model is not null)
    ),
    of_tools as (
      select case grouping(bucket, agent_id, tool_name)
          when 7 then 'all' when 3 then 'time' when 5 then 'agent' else 'tool' end as by,
        coalesce(${BUCKET_TEXT}, agent_id, tool_name) as key,
        count(*) as calls, count(*) filter (where is_error) as errors, ${percentiles(sql`latency_ms`)} as latency,
        row_number() over (partition by grouping(bucket, agent_id, tool_name) order by count(*) desc) as nth
      from ended where kind = 'tool.completed'
      group by grouping sets ((), (bucket), (agent_id), (tool_name))
    ),
    of_models as (
      select model, provider, count(*) filter (where kind = 'llm.completed') as calls,
        count(*) filter (where kind = 'llm.completed' and is_error) as errors,
        ${percentiles(sql`latency_ms`, sql`kind = 'llm.completed'`)} as latency,
        coalesce(sum(input_tokens), 0) as input_tokens, coalesce(sum(output_tokens), 0) as output_tokens,
        coalesce(sum(cost_usd), 0) as cost_usd
      from ended where model is not null
      group by model, provider order by calls desc, cost_usd desc, model limit ${MAX_ROWS}
    )
    select by, key, null as provider, calls, errors, latency, 0 as "inputTokens", 0 as "outputTokens", 0 as "costUsd"
    from of_tools where calls > 0 and (by in ('all', 'time') or nth <= ${MAX_ROWS})
    union all
    select 'model', model, provider, calls, errors, latency, input_tokens, output_tokens, cost_usd from of_models
    order by calls desc, "costUsd" desc, key`.execute(db);
  return rows;
}

function percentiles(value: RawBuilder<unknown>, which: RawBuilder<unknown> = sql`true`) {
  return sql`percentile_cont(array[0.5, 0.95, 0.99]) within group (order by ${value}) filter (where ${which})`;
}

function inRange({ tenantId, from, to, agentId }: Scope, column: string) {
  const time = sql.ref(column);
  const ofAgent = agentId === undefined ? sql`` : sql`and agent_id = ${agentId}`;
  return sql`tenant_id = ${tenantId} and ${time} >= ${from} and ${time} <= ${to} ${ofAgent}`;
}

function bucketOf({ granularity }: Scope, column: string) {
  return sql`date_trunc(${granularity}, ${sql.ref(column)}, 'UTC')`;
}

/** Start of a bucket as an ISO string, formatted once per bucket instead of once per row. */
const BUCKET_TEXT = sql`to_char(bucket at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;

@Controller()
export class MetricsController {
  constructor(private readonly metrics: MetricsQueries) {}

  @Serves(getMetrics)
  async get(@CurrentCaller() caller: Caller, @FromRequest() { query }: RequestOf<typeof getMetrics>) {
    return this.metrics.get(caller.tenantId, query);
  }
}
