import { DAY_MS, HOUR_MS, MINUTE_MS } from '@agentlens/contracts';
import { type ActivityBucket, type ActivityQuery, type ActivityStep, withEnds } from '@agentlens/operations';
import { type Clock, ProblemException, port } from '@agentlens/platform';
import { latencyAt } from '@agentlens/runs';
import { Inject, Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { TenantReads } from '../http/tenant-reads.ts';

const STEPS_MS: Readonly<Record<ActivityStep, number>> = {
  '1m': MINUTE_MS,
  '5m': 5 * MINUTE_MS,
  '15m': 15 * MINUTE_MS,
  '1h': HOUR_MS,
  '6h': 6 * HOUR_MS,
  '1d': DAY_MS,
};
const USUAL_BUCKETS = 130;
const MAX_BUCKETS = 1_500;
/** Minutes are kept a little longer than this. */
const MINUTES_READ_MS = 3 * DAY_MS - HOUR_MS;

interface Row extends Omit<ActivityBucket, 'latencyP50Ms' | 'latencyP99Ms'> {
  readonly latencies: readonly number[] | null;
}

/** Reads counts by minute and hour. */
@Injectable()
export class ActivityQueries {
  constructor(
    private readonly reads: TenantReads,
    @Inject(port('clock')) private readonly clock: Clock,
  ) {}

  async over(tenantId: string, query: ActivityQuery) {
    const { fromMs, toMs, stepMs } = planOf(query, this.clock.now());
    const [from, to] = [new Date(fromMs).toISOString(), new Date(toMs).toISOString()];
    const grain = stepMs < HOUR_MS ? 'minute' : 'hour';
    const rows = await this.reads.read(tenantId, async (db) => {
      const matching = sql`from activity where tenant_id = ${tenantId} and grain = ${grain}
        and bucket >= ${from}::timestamptz and bucket < ${to}::timestamptz
        ${query.agentId === undefined ? sql`` : sql`and agent_id = ${query.agentId}`}`;
      const bin = sql`date_bin(${`${stepMs} milliseconds`}::interval, bucket, 'epoch')`;
      const answer = await sql<Row>`
        with counted as (
          select ${bin} as at, sum(event_count)::bigint as events, sum(error_count)::bigint as errors,
            sum(tool_call_count)::bigint as "toolCalls", sum(llm_call_count)::bigint as "modelCalls",
            sum(input_tokens)::bigint as "inputTokens", sum(output_tokens)::bigint as "outputTokens",
            sum(cost_usd) as "costUsd", sum(decision_count)::bigint as decisions, sum(blocked_count)::bigint as blocked,
            sum(asked_count)::bigint as "askedHuman", sum(bypassed_count)::bigint as bypassed
          ${matching} group by 1
        ), latencies as (
          select at, array_agg(count order by nth) as counts from (
            select ${bin} as at, nth, sum(count)::bigint as count
            from activity cross join lateral unnest(latency_counts) with ordinality as each_count(count, nth)
            where tenant_id = ${tenantId} and grain = ${grain}
              and bucket >= ${from}::timestamptz and bucket < ${to}::timestamptz
              ${query.agentId === undefined ? sql`` : sql`and agent_id = ${query.agentId}`}
            group by 1, 2
          ) as summed group by at
        )
        select counted.*, latencies.counts as latencies from counted left join latencies using (at) order by at`.execute(
        db,
      );
      return answer.rows;
    });
    const buckets = rows.map(({ latencies, ...row }) => ({
      ...row,
      latencyP50Ms: latencyAt(0.5, (latencies ?? []).map(Number)),
      latencyP99Ms: latencyAt(0.99, (latencies ?? []).map(Number)),
    }));
    return { buckets, from, to, stepMs };
  }
}

/**
 * The range in whole buckets and the width of a bucket.
 * @throws ProblemException 400 if the range has too many buckets of the wanted width, or is older than minutes are kept
 */
export function planOf(query: ActivityQuery, nowMs: number): { fromMs: number; toMs: number; stepMs: number } {
  const ends = withEnds(query, nowMs);
  const toMs = ends.to === undefined ? nowMs : Date.parse(ends.to);
  const fromMs = ends.from === undefined ? toMs - HOUR_MS : Date.parse(ends.from);
  if (fromMs > toMs) throw refused('from', 'must not be later than now');
  const steps = Object.values(STEPS_MS);
  const reachable = steps.filter((ms) => ms >= HOUR_MS || fromMs >= nowMs - MINUTES_READ_MS);
  const fitting = reachable.find((ms) => (toMs - fromMs) / ms <= USUAL_BUCKETS) ?? DAY_MS;
  const stepMs = query.step === undefined ? fitting : STEPS_MS[query.step];
  if (stepMs < HOUR_MS && fromMs < nowMs - MINUTES_READ_MS)
    throw refused('step', 'must be at least 1h, because minutes are kept for 3 days');
  if ((toMs - fromMs) / stepMs > MAX_BUCKETS)
    throw refused('step', `makes more than ${MAX_BUCKETS} buckets; use a wider one or a shorter range`);
  const floor = (ms: number) => Math.max(0, Math.floor(ms / stepMs) * stepMs);
  return { fromMs: floor(fromMs), toMs: Math.max(floor(toMs - 1) + stepMs, stepMs), stepMs };
}

function refused(path: string, message: string): ProblemException {
  return new ProblemException(400, 'Validation failed', { details: [{ path, message }] });
}
