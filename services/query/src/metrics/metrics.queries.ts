import { CLOCK, type Clock } from '@agentlens/platform';
import { Inject, Injectable } from '@nestjs/common';
import { type RawBuilder, sql } from 'kysely';
import { analyticsRange } from '../analytics/analytics-range.ts';
import { type ReadOnly, TenantReads } from '../http/tenant-reads.ts';
import { type About, aligned, type CallFigures, callMetrics, type TaskFigures, taskMetrics } from './figures.ts';
import type { MetricsQuery } from './metrics.operations.ts';

/** Agents, models and tools shown at most, each; the rest is in the totals. */
const MOST_ROWS = 100;

interface ModelFigures extends CallFigures {
  readonly model: string;
  readonly provider: string | null;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly costUsd: number;
}

type Scope = Omit<MetricsQuery, 'from' | 'to'> & {
  readonly tenantId: string;
  readonly from: string;
  readonly to: string;
};

/** Aggregates over what is stored: nothing is kept for them beside events and runs, so nothing can disagree. */
@Injectable()
export class MetricsQueries {
  constructor(
    private readonly reads: TenantReads,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  async get(tenantId: string, query: MetricsQuery) {
    const range = analyticsRange(query, this.clock.now());
    const scope = { ...query, ...range, tenantId };
    return this.reads.read(tenantId, async (db) => {
      const tasks = await taskFigures(db, scope);
      const calls = await toolFigures(db, scope);
      const models = await modelFigures(db, scope);
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
          .slice(0, MOST_ROWS),
        models: models.map(({ calls: count, errors, latency, ...model }) => ({
          ...model,
          calls: callMetrics({ calls: count, errors, latency }),
        })),
        tools: calls
          .filter(({ by, key }) => by === 'tool' && key !== null)
          .map((row) => ({ tool: row.key ?? '', calls: callMetrics(row) })),
      };
    });
  }
}

/** One pass over the runs that started in the range, for the total, its buckets and its agents. */
async function taskFigures(db: ReadOnly, scope: Scope) {
  const { rows } = await sql<About & TaskFigures>`
    select * from (
      select case grouping(bucket, agent_id) when 3 then 'all' when 1 then 'time' else 'agent' end as by,
        coalesce(bucket, agent_id) as key,
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
    where started > 0 and (by <> 'agent' or nth <= ${MOST_ROWS})`.execute(db);
  return rows;
}

/** One pass over the tool calls that ended in the range, for the total, its buckets, agents and tools. */
async function toolFigures(db: ReadOnly, scope: Scope) {
  const { rows } = await sql<About & CallFigures>`
    select * from (
      select case grouping(bucket, agent_id, tool_name)
          when 7 then 'all' when 3 then 'time' when 5 then 'agent' else 'tool' end as by,
        coalesce(bucket, agent_id, tool_name) as key,
        count(*) as calls, count(*) filter (where is_error) as errors, ${percentiles(sql`latency_ms`)} as latency,
        row_number() over (partition by grouping(bucket, agent_id, tool_name) order by count(*) desc) as nth
      from (
        select agent_id, tool_name, is_error, latency_ms, ${bucketOf(scope, 'occurred_at')} as bucket
        from events where ${inRange(scope, 'occurred_at')} and kind = 'tool.completed'
      ) as ended
      group by grouping sets ((), (bucket), (agent_id), (tool_name))
    ) as figures
    where calls > 0 and (by in ('all', 'time') or nth <= ${MOST_ROWS})
    order by calls desc, key`.execute(db);
  return rows;
}

/** Calls are counted as they end; tokens and money wherever they were reported, as in runs. */
async function modelFigures(db: ReadOnly, scope: Scope) {
  const { rows } = await sql<ModelFigures>`
    select model, provider, count(*) filter (where kind = 'llm.completed') as calls,
      count(*) filter (where kind = 'llm.completed' and is_error) as errors,
      ${percentiles(sql`latency_ms`, sql`kind = 'llm.completed'`)} as latency,
      coalesce(sum(input_tokens), 0) as "inputTokens", coalesce(sum(output_tokens), 0) as "outputTokens",
      coalesce(sum(cost_usd), 0) as "costUsd"
    from events where ${inRange(scope, 'occurred_at')} and model is not null
    group by model, provider order by calls desc, "costUsd" desc, model limit ${MOST_ROWS}`.execute(db);
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

/** The start of the bucket as our text. */
function bucketOf({ granularity }: Scope, column: string) {
  const start = sql`date_trunc(${granularity}, ${sql.ref(column)}, 'UTC') at time zone 'UTC'`;
  return sql`to_char(${start}, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;
}
