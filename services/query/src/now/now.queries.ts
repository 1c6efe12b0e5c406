import { DAY_MS, HOUR_MS } from '@agentlens/contracts';
import { BYPASSED_DECISION } from '@agentlens/database';
import { type Firing, type Pulse, type RunningAgent } from '@agentlens/operations';
import { type Clock, port } from '@agentlens/platform';
import { Inject, Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { type ReadOnly, TenantReads } from '../http/tenant-reads.ts';
import { IDLE_AFTER_MS } from '../runs/run-view.ts';

const MAX_ROWS = 20;
const BUCKETS = 12;
const MINUTES = 60;

/** Figures of the last hour that no other query returns. */
@Injectable()
export class NowQueries {
  constructor(
    private readonly reads: TenantReads,
    @Inject(port('clock')) private readonly clock: Clock,
  ) {}

  async figures(tenantId: string) {
    const nowMs = this.clock.now();
    return this.reads.read(tenantId, async (db) => ({
      firing: await firingOf(db, tenantId, nowMs),
      running: await runningOf(db, tenantId, nowMs),
      pulse: await pulseOf(db, tenantId, nowMs),
      deliveries: await deliveriesOf(db, tenantId, nowMs),
      lastEventAt: await lastEventOf(db, tenantId),
    }));
  }
}

const iso = (ms: number) => new Date(ms).toISOString();

async function firingOf(db: ReadOnly, tenantId: string, nowMs: number): Promise<Firing[]> {
  const from = iso(nowMs - HOUR_MS);
  const { rows } = await sql<Omit<Firing, 'perFiveMinutes'> & { buckets: number[] }>`
    with fired as (
      select rule_id, triggered_at as at, dry_run as shadow, run_id from guardrail_triggers
      where tenant_id = ${tenantId} and triggered_at > ${from}::timestamptz and action_result <> 'cooldown'
      union all
      select finding->>'ruleId', decided_at, finding->>'mode' = 'shadow', run_id
      from decisions cross join lateral jsonb_array_elements(evaluated_rules) as finding
      where tenant_id = ${tenantId} and decided_at > ${from}::timestamptz and not asked_again and (effect <> 'allow' or would_have is not null)
        and (finding->>'violated')::boolean
    )
    select fired.rule_id as "ruleId", coalesce(max(rules.name), fired.rule_id) as name,
      coalesce(max(rules.action_type), '') as "actionType", fired.shadow, count(*) as times,
      count(distinct fired.run_id) as runs, max(fired.at) as "lastAt",
      array_agg(least(${sql.lit(BUCKETS - 1)}, greatest(0,
        floor(extract(epoch from fired.at - ${from}::timestamptz) / 300)))::int) as buckets
    from fired left join guardrail_rules rules on rules.tenant_id = ${tenantId} and rules.rule_id = fired.rule_id
    group by fired.rule_id, fired.shadow order by fired.shadow, times desc limit ${MAX_ROWS}`.execute(db);
  return rows.map(({ buckets, ...row }) => ({ ...row, perFiveMinutes: histogram(buckets, BUCKETS) }));
}

async function runningOf(db: ReadOnly, tenantId: string, nowMs: number): Promise<RunningAgent[]> {
  const { rows } = await sql<RunningAgent>`
    select agent_id as "agentId", count(*) as runs, min(started_at) as "oldestStartedAt",
      count(*) filter (where last_event_at < ${iso(nowMs - IDLE_AFTER_MS)}::timestamptz) as idle,
      coalesce(sum(cost_usd), 0) as "costUsd"
    from runs where tenant_id = ${tenantId} and status = 'running'
    group by agent_id order by runs desc, agent_id limit ${MAX_ROWS}`.execute(db);
  return rows;
}

async function pulseOf(db: ReadOnly, tenantId: string, nowMs: number): Promise<Pulse> {
  const from = iso(nowMs - HOUR_MS);
  const { rows } = await sql<{ minute: number; asked: number; blocked: number; askedHuman: number }>`
    select least(${sql.lit(MINUTES - 1)}, greatest(0, floor(extract(epoch from decided_at - ${from}::timestamptz) / 60)))::int
        as minute, count(*) as asked,
      count(*) filter (where verdict = 'BLOCK' and cause->>'kind' <> 'HITL_PENDING') as blocked,
      count(*) filter (where cause->>'kind' = 'HITL_PENDING') as "askedHuman"
    from decisions where tenant_id = ${tenantId} and decided_at > ${from}::timestamptz and not asked_again group by 1`.execute(
    db,
  );
  const totals = await sql<{ bypassed: number; p99: number | null }>`
    select count(*) filter (where ${sql.raw(BYPASSED_DECISION)}) as bypassed,
      percentile_cont(0.99) within group (order by latency_ms) as p99
    from decisions where tenant_id = ${tenantId} and decided_at > ${from}::timestamptz`.execute(db);
  const series = (of: 'asked' | 'blocked' | 'askedHuman') => {
    const values = Array.from({ length: MINUTES }, () => 0);
    for (const row of rows) values[row.minute] = row[of];
    return values;
  };
  const [total] = totals.rows;
  return {
    asked: series('asked'),
    blocked: series('blocked'),
    askedHuman: series('askedHuman'),
    bypassed: total?.bypassed ?? 0,
    latencyP99Ms: total?.p99 ?? null,
  };
}

async function deliveriesOf(db: ReadOnly, tenantId: string, nowMs: number) {
  const { rows } = await sql<{ settled: number; failed: number }>`
    select count(*) as settled, count(*) filter (where result = 'failed') as failed
    from deliveries where tenant_id = ${tenantId} and settled_at > ${iso(nowMs - DAY_MS)}::timestamptz`.execute(db);
  return rows[0] ?? { settled: 0, failed: 0 };
}

async function lastEventOf(db: ReadOnly, tenantId: string): Promise<string | null> {
  const { rows } = await sql<{ at: string | null }>`
    select max(last_seen_at) as at from agents where tenant_id = ${tenantId}`.execute(db);
  return rows[0]?.at ?? null;
}

function histogram(places: readonly number[], length: number): number[] {
  const counts = Array.from({ length }, () => 0);
  for (const place of places) counts[place] = (counts[place] ?? 0) + 1;
  return counts;
}
