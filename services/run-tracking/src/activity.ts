import { DAY_MS, HOUR_MS } from '@agentlens/contracts';
import { BYPASSED_DECISION, type Database } from '@agentlens/database';
import { Repeating } from '@agentlens/messaging';
import type { Platform } from '@agentlens/platform';
import { LATENCY_BOUNDS_MS } from '@agentlens/runs';
import { RetentionMetrics } from './metrics.ts';

/** How long minutes are kept. Charts of longer ranges read hours. */
const MINUTES_KEPT_DAYS = 3;
const HOURS_KEPT_DAYS = 400;

const COUNTS = [
  'event_count',
  'error_count',
  'tool_call_count',
  'llm_call_count',
  'input_tokens',
  'output_tokens',
  'cost_usd',
];

/** The minutes and hours of `minute_rows`, whose `day` is a minute of UTC. Minutes past retention are left out. */
export const ACTIVITY_OF_EVENTS = `
  insert into activity as a (tenant_id, grain, bucket, agent_id, ${COUNTS.join(', ')})
  select tenant_id, grain, bucket, agent_id, ${COUNTS.map((name) => `sum(${name === 'cost_usd' ? 'cost_usd::numeric' : name})`).join(', ')}
  from (
    select 'minute' as grain, (day || ':00Z')::timestamptz as bucket, minute_rows.* from minute_rows
    union all select 'hour', (left(day, 13) || ':00:00Z')::timestamptz, minute_rows.* from minute_rows
  ) as both_grains
  -- The first condition is always true. It makes Postgres update the days first.
  where (select count(*) from day_rows) >= 0 and (grain = 'hour' or bucket > now() - interval '${MINUTES_KEPT_DAYS} days')
  group by 1, 2, 3, 4 order by 1, 2, 3, 4
  on conflict (tenant_id, grain, bucket, agent_id) do update set
    ${COUNTS.map((name) => `${name} = a.${name} + excluded.${name}`).join(', ')}`;

const LATENCIES = [...LATENCY_BOUNDS_MS, undefined].map(
  (_, index) =>
    `count(*) filter (where width_bucket(latency_ms, '{0,${LATENCY_BOUNDS_MS.join(',')}}'::float8[]) = ${index + 1})`,
);

/** The minutes and hours of `stored`, which holds new decisions. */
export const ACTIVITY_OF_DECISIONS = `
  insert into activity as a (tenant_id, grain, bucket, agent_id, decision_count, blocked_count, asked_count,
    bypassed_count, latency_counts)
  select tenant_id, grain, date_trunc(grain, decided_at, 'UTC'), agent_id, count(*),
    count(*) filter (where verdict = 'BLOCK' and not waits), count(*) filter (where waits),
    count(*) filter (where ${BYPASSED_DECISION}), array[${LATENCIES.join(',\n      ')}]
  from (
    select *, cause->>'kind' = 'HITL_PENDING' as waits from stored where not asked_again
  ) as fresh cross join (values ('minute'), ('hour')) as grains(grain)
  -- The first condition is always true. It makes Postgres count the rules first.
  where (select count(*) from counted) >= 0
    and (grain = 'hour' or decided_at > now() - interval '${MINUTES_KEPT_DAYS} days')
  group by 1, 2, 3, 4 order by 1, 2, 3, 4
  on conflict (tenant_id, grain, bucket, agent_id) do update set
    decision_count = a.decision_count + excluded.decision_count,
    blocked_count = a.blocked_count + excluded.blocked_count, asked_count = a.asked_count + excluded.asked_count,
    bypassed_count = a.bypassed_count + excluded.bypassed_count,
    latency_counts = (
      select array_agg(coalesce(before, 0) + coalesce(added, 0) order by nth)
      from unnest(a.latency_counts, excluded.latency_counts) with ordinality as both_counts(before, added, nth))`;

/** A statement may run for ten seconds; this many rows take well under one. */
const ROWS_AT_ONCE = 5_000;
const NEXT_ROUND_MS = 200;
const RETRY_MS = 60_000;

const DROP_OLD = `
delete from activity where ctid = any(array(
  select ctid from activity where (grain = 'minute' and bucket < $1) or (grain = 'hour' and bucket < $2)
  limit ${ROWS_AT_ONCE}))`;

interface ActivityDependencies extends Pick<Platform, 'clock' | 'logger'> {
  readonly database: Database;
}

/** Removes minutes and hours of activity past their retention. */
export class ActivityRetention {
  readonly #dependencies: ActivityDependencies;
  readonly #removed = new RetentionMetrics();
  readonly #turning = new Repeating(() => this.dropOld());

  constructor(dependencies: ActivityDependencies) {
    this.#dependencies = dependencies;
  }

  start(): void {
    this.#turning.start(0);
  }

  stop(): Promise<void> {
    return this.#turning.stop();
  }

  /** Deletes one batch of rows of all tenants. Never throws. @returns when the next batch is due, ms */
  async dropOld(): Promise<number> {
    const { clock, database, logger } = this.#dependencies;
    const before = (days: number) => new Date(clock.now() - days * DAY_MS).toISOString();
    try {
      const { rowCount } = await database.pool.query(DROP_OLD, [before(MINUTES_KEPT_DAYS), before(HOURS_KEPT_DAYS)]);
      this.#removed.rows('activity', rowCount ?? 0);
      return rowCount === ROWS_AT_ONCE ? NEXT_ROUND_MS : HOUR_MS;
    } catch (err) {
      logger.warn({ err }, 'removing activity past retention failed, will retry');
      return RETRY_MS;
    }
  }
}
