import type { AnalyticsQuery, SeriesGroup, SpendGroup } from '@agentlens/operations';
import { type Clock, port } from '@agentlens/platform';
import { Inject, Injectable } from '@nestjs/common';
import { type RawBuilder, sql } from 'kysely';
import { TenantReads } from '../http/tenant-reads.ts';
import { analyticsRange } from './analytics.queries.ts';

type LlmQuery = AnalyticsQuery & { readonly model?: string | undefined; readonly provider?: string | undefined };
type SpendQuery = AnalyticsQuery & { readonly by: SpendGroup; readonly limit: number };

const MAX_AGENTS = 500;
const MAX_MODELS = 100;

/** Events that have a cost, or would have one if their price were known. */
const SPENDING = sql`(kind = 'llm.completed' or cost_usd is not null or cost_source = 'unpriced')`;

const TOTALS = sql`
  coalesce(sum(cost_usd), 0) as "totalCostUsd",
  coalesce(sum(input_tokens), 0) as "totalInputTokens",
  coalesce(sum(output_tokens), 0) as "totalOutputTokens",
  coalesce(sum(total_tokens), 0) as "totalTokens"`;

const OF_CALLS = sql`
  count(*) as calls,
  coalesce(sum(cost_usd), 0) as "costUsd",
  coalesce(sum(input_tokens), 0) as "inputTokens",
  coalesce(sum(output_tokens), 0) as "outputTokens",
  coalesce(round(avg(latency_ms)::numeric, 2), 0) as "avgLatencyMs"`;

/** Grouping key for each kind of group. */
const KEYS: Readonly<Record<SpendGroup, RawBuilder<unknown>>> = {
  agent: sql`agent_id`,
  model: sql`coalesce(model, '')`,
  day: sql`to_char(occurred_at at time zone 'UTC', 'YYYY-MM-DD')`,
  session: sql`coalesce(session_id, run_id)`,
  actor: sql`coalesce(actor_id, '')`,
};

/** Actors belong to runs, not to their events. */
const withActors = (tenantId: string) =>
  sql`left join (select run_id, actor_id from runs where tenant_id = ${tenantId}) as actors using (run_id)`;

const SERIES_KEYS: Readonly<Record<SeriesGroup, RawBuilder<unknown>>> = {
  agent: sql`e.agent_id`,
  model: sql`coalesce(e.model, '')`,
  user: sql`coalesce(r.actor_id, '')`,
};
const MAX_SERIES = 8;

/** Orders series by spend, the highest first, and the sum of all others last. */
function rank(key: string, usd: number): number {
  return key === '*' ? Number.POSITIVE_INFINITY : -usd;
}

type CostTotals = {
  totalCostUsd: number;
  totalInputTokens: number;
  totalOutputTokens: number;
  totalTokens: number;
};

type ModelCallTotals = {
  calls: number;
  costUsd: number;
  inputTokens: number;
  outputTokens: number;
  avgLatencyMs: number;
};

@Injectable()
export class SpendQueries {
  constructor(
    private readonly reads: TenantReads,
    @Inject(port('clock')) private readonly clock: Clock,
  ) {}

  async costs(tenantId: string, query: AnalyticsQuery) {
    const matching = sql`${this.#within(tenantId, query)} and ${SPENDING}`;
    return this.reads.read(tenantId, async (db) => {
      const { rows: byAgent } = await sql<CostTotals & { agentId: string; eventCount: number }>`
        select agent_id as "agentId", ${TOTALS}, count(*) as "eventCount" ${matching}
        group by 1 order by 2 desc, 1 limit ${MAX_AGENTS}`.execute(db);
      const { rows: buckets } = await sql<{ bucket: string; agentId: string; costUsd: number; eventCount: number }>`
        select date_trunc(${query.granularity}, occurred_at, 'UTC') as bucket, agent_id as "agentId",
          coalesce(sum(cost_usd), 0) as "costUsd", count(*) as "eventCount" ${matching}
        group by 1, 2 order by 1, 2`.execute(db);
      const { rows: totals } = await sql<CostTotals>`select ${TOTALS} ${matching}`.execute(db);
      const overTime = [...Map.groupBy(buckets, ({ bucket }) => bucket)].map(([bucket, rows]) => ({
        bucket,
        totalCostUsd: rows.reduce((sum, { costUsd }) => sum + costUsd, 0),
        eventCount: rows.reduce((sum, { eventCount }) => sum + eventCount, 0),
        byAgent: Object.fromEntries(rows.map(({ agentId, costUsd }) => [agentId, costUsd])),
      }));
      return { byAgent, overTime, totals: only(totals) };
    });
  }

  async llm(tenantId: string, query: LlmQuery) {
    const { model, provider } = query;
    const matching = sql`${this.#within(tenantId, query)} and kind = 'llm.completed'
      ${model === undefined ? sql`` : sql`and model = ${model}`}
      ${provider === undefined ? sql`` : sql`and provider = ${provider}`}`;
    return this.reads.read(tenantId, async (db) => {
      const { rows: all } = await sql<ModelCallTotals>`select ${OF_CALLS} ${matching}`.execute(db);
      const { rows: byModel } = await sql<ModelCallTotals & { provider: string; model: string }>`
        select coalesce(provider, 'unknown') as provider, coalesce(model, 'unknown') as model, ${OF_CALLS} ${matching}
        group by 1, 2 order by 4 desc, 1, 2 limit ${MAX_MODELS}`.execute(db);
      const { rows: byTime } = await sql<ModelCallTotals & { bucket: string }>`
        select date_trunc(${query.granularity}, occurred_at, 'UTC') as bucket, ${OF_CALLS} ${matching}
        group by 1 order by 1`.execute(db);
      const { calls, costUsd, inputTokens, outputTokens, avgLatencyMs } = only(all);
      const summary = {
        totalCalls: calls,
        totalCostUsd: costUsd,
        totalInputTokens: inputTokens,
        totalOutputTokens: outputTokens,
        avgLatencyMs,
        avgCostPerCall: calls === 0 ? 0 : costUsd / calls,
      };
      return { summary, byModel, byTime };
    });
  }

  async grouped(tenantId: string, { by, limit, ...query }: SpendQuery) {
    const range = this.#rangeOf(query);
    const joined = by === 'actor' ? withActors(tenantId) : sql``;
    const matching = sql`${this.#within(tenantId, query, range, joined)} and ${SPENDING}`;
    const order = by === 'day' ? sql`1 desc` : sql`2 desc, 1`;
    return this.reads.read(tenantId, async (db) => {
      const { rows: groups } = await sql<Omit<ModelCallTotals, 'avgLatencyMs'> & { key: string; unpriced: number }>`
        select ${KEYS[by]} as key, coalesce(sum(cost_usd), 0) as "costUsd", coalesce(sum(input_tokens), 0) as "inputTokens",
          coalesce(sum(output_tokens), 0) as "outputTokens", count(*) as calls,
          count(*) filter (where cost_source = 'unpriced') as unpriced
        ${matching} group by 1 order by ${order} limit ${limit}`.execute(db);
      const { rows: unpriced } = await sql<{
        provider: string;
        model: string;
        calls: number;
        inputTokens: number;
        outputTokens: number;
        lastAt: string;
      }>`
        select coalesce(provider, 'unknown') as provider, coalesce(model, 'unknown') as model, count(*) as calls,
          coalesce(sum(input_tokens), 0) as "inputTokens", coalesce(sum(output_tokens), 0) as "outputTokens",
          max(occurred_at) as "lastAt"
        ${matching} and cost_source = 'unpriced' group by 1, 2 order by 3 desc, 1, 2 limit ${MAX_MODELS}`.execute(db);
      return { by, ...range, groups: by === 'day' ? groups.reverse() : groups, unpriced };
    });
  }

  /** Spend over time of those who spent most, with all others in one series. */
  async series(tenantId: string, { by, ...query }: AnalyticsQuery & { readonly by: SeriesGroup }) {
    const range = this.#rangeOf(query);
    const { rows } = await this.reads.read(tenantId, (db) =>
      sql<{ at: string; key: string; costUsd: number }>`
        with spent as (
          select date_trunc(${query.granularity}, e.occurred_at, 'UTC') as at, ${SERIES_KEYS[by]} as key,
            sum(e.cost_usd) as usd
          from events e ${by === 'user' ? sql`left join runs r on r.tenant_id = e.tenant_id and r.run_id = e.run_id` : sql``}
          where e.tenant_id = ${tenantId} and e.occurred_at >= ${range.from} and e.occurred_at <= ${range.to}
            and e.cost_usd > 0 ${query.agentId === undefined ? sql`` : sql`and e.agent_id = ${query.agentId}`}
          group by 1, 2
        ),
        top as (select key from spent group by key order by sum(usd) desc, key limit ${MAX_SERIES})
        select at, coalesce(top.key, '*') as key, sum(usd)::float8 as "costUsd"
        from spent left join top using (key) group by 1, 2 order by 1, 2`.execute(db),
    );
    const totals = new Map<string, number>();
    for (const { key, costUsd } of rows) totals.set(key, (totals.get(key) ?? 0) + costUsd);
    const keys = [...totals].sort(([one, a], [other, b]) => rank(one, a) - rank(other, b)).map(([key]) => key);
    const buckets = [...Map.groupBy(rows, ({ at }) => at)].map(([at, ofBucket]) => ({
      at,
      costUsd: keys.map((key) => ofBucket.find((row) => row.key === key)?.costUsd ?? 0),
    }));
    return { by, ...range, keys, buckets };
  }

  #rangeOf(query: AnalyticsQuery) {
    return analyticsRange(query, this.clock.now());
  }

  #within(tenantId: string, query: AnalyticsQuery, { from, to } = this.#rangeOf(query), joined = sql``) {
    return sql`from events ${joined} where tenant_id = ${tenantId} and occurred_at >= ${from} and occurred_at <= ${to}
      ${query.agentId === undefined ? sql`` : sql`and agent_id = ${query.agentId}`}`;
  }
}

function only<T>(rows: readonly T[]): T {
  const [row] = rows;
  if (row === undefined) throw new Error('an aggregate query returned no row');
  return row;
}
