import { COST_TOLERANCE, DAY_MS } from '@agentlens/contracts';
import { findUsageGaps } from '@agentlens/otlp';
import { withEnds } from '@agentlens/operations';
import { type Clock, PriceBooks, port } from '@agentlens/platform';
import { nearestListed } from '@agentlens/prices';
import { Inject, Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { TenantReads } from '../http/tenant-reads.ts';

const MAX_MODELS = 200;
/** A sample is enough to recognize a library. */
const CALLS_LOOKED_AT = 5_000;
const MAX_SOURCES = 50;
const DEFAULT_RANGE_MS = 30 * DAY_MS;

interface TimeRange {
  readonly from?: string | undefined;
  readonly to?: string | undefined;
  readonly range?: string | undefined;
}

type UnpricedRow = {
  provider: string;
  model: string;
  reason: string | null;
  calls: number;
  inputTokens: number;
  outputTokens: number;
  estimatedUsd: number;
  firstAt: string;
  lastAt: string;
};

type SourceRow = {
  name: string;
  version: string | null;
  calls: number;
  withoutTokens: number;
};

type DifferenceRow = {
  provider: string;
  model: string;
  calls: number;
  different: number;
  reportedUsd: number;
  computedUsd: number;
};

/** Model calls whose cost is unknown or doubtful. */
@Injectable()
export class UsageQueries {
  constructor(
    private readonly reads: TenantReads,
    @Inject(PriceBooks) private readonly books: PriceBooks,
    @Inject(port('clock')) private readonly clock: Clock,
  ) {}

  /** Libraries that reported the model calls of the last day, with what they are known not to report. */
  async sources(tenantId: string) {
    const since = new Date(this.clock.now() - DAY_MS).toISOString();
    const { rows } = await this.reads.read(tenantId, (db) =>
      sql<SourceRow>`
        select name, version, count(*)::int as calls, count(*) filter (where tokens is null)::int as "withoutTokens"
        from (
          select coalesce(nullif(metadata->'otlp'->>'scope', ''), nullif(metadata->>'framework', '')) as name,
            coalesce(nullif(metadata->'otlp'->>'scopeVersion', ''), nullif(metadata->>'framework_version', '')) as version,
            coalesce(input_tokens, output_tokens) as tokens
          from events
          where tenant_id = ${tenantId} and occurred_at >= ${since} and cost_source is not null and not is_error
          limit ${CALLS_LOOKED_AT}
        ) as calls
        where name is not null
        group by 1, 2 order by calls desc, 1, 2 limit ${MAX_SOURCES}`.execute(db),
    );
    return rows.map(({ version, ...source }) => ({
      ...source,
      ...(version !== null && { version }),
      gaps: findUsageGaps(source.name, { all: source.calls, withoutTokens: source.withoutTokens }),
    }));
  }

  async unpriced(tenantId: string, query: TimeRange) {
    const range = this.#ends(query);
    const { rows } = await this.reads.read(tenantId, (db) =>
      sql<UnpricedRow>`
        select coalesce(provider, 'unknown') as provider, coalesce(model, '') as model,
          min(pricing->>'unpricedReason') as reason, count(*)::int as calls,
          coalesce(sum(input_tokens), 0) as "inputTokens", coalesce(sum(output_tokens), 0) as "outputTokens",
          coalesce(sum((pricing->>'estimatedCostUsd')::numeric), 0)::float8 as "estimatedUsd",
          min(occurred_at) as "firstAt", max(occurred_at) as "lastAt"
        from events
        where tenant_id = ${tenantId} and occurred_at >= ${range.from} and occurred_at < ${range.to}
          and cost_source = 'unpriced'
        group by 1, 2 order by calls desc, 1, 2 limit ${MAX_MODELS}`.execute(db),
    );
    const models = rows.map(({ reason, ...row }) => {
      const near = row.model === '' ? undefined : nearestListed(this.books.table, row, this.clock.now());
      const proposal = near && { model: row.model, fromDay: row.firstAt.slice(0, 10), ...near };
      return { ...row, reason: reason ?? undefined, proposal };
    });
    return { ...range, models };
  }

  async differences(tenantId: string, query: TimeRange) {
    const range = this.#ends(query);
    const { rows: models } = await this.reads.read(tenantId, (db) =>
      sql<DifferenceRow>`
        with both_known as (
          select coalesce(provider, 'unknown') as provider, coalesce(model, '') as model, cost_usd as reported,
            (pricing->>'computedCostUsd')::numeric as computed
          from events
          where tenant_id = ${tenantId} and occurred_at >= ${range.from} and occurred_at < ${range.to}
            and cost_source = 'reported' and pricing ? 'computedCostUsd'
        )
        select provider, model, count(*)::int as calls,
          (count(*) filter (where abs(reported - computed) > ${COST_TOLERANCE} * greatest(reported, computed)))::int
            as different,
          sum(reported)::float8 as "reportedUsd", sum(computed)::float8 as "computedUsd"
        from both_known group by 1, 2
        having count(*) filter (where abs(reported - computed) > ${COST_TOLERANCE} * greatest(reported, computed)) > 0
        order by different desc, 1, 2 limit ${MAX_MODELS}`.execute(db),
    );
    return { ...range, models };
  }

  #ends(query: TimeRange): { readonly from: string; readonly to: string } {
    const nowMs = this.clock.now();
    const { from, to = new Date(nowMs).toISOString() } = withEnds(query, nowMs);
    return { from: from ?? new Date(Date.parse(to) - DEFAULT_RANGE_MS).toISOString(), to };
  }
}
