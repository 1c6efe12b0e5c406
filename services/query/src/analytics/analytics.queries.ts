import { DAY_MS } from '@agentlens/contracts';
import { type AnalyticsQuery, type Granularity, withEnds } from '@agentlens/operations';
import { type Clock, ProblemException, port } from '@agentlens/platform';
import { Inject, Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { isPaused } from '../control/control-states.ts';
import { type ReadOnly, TenantReads } from '../http/tenant-reads.ts';

/** The measures, defined once for both buckets and totals. */
const MEASURES = sql`
  count(*) as "eventCount",
  count(*) filter (where kind = 'tool.called') as "toolCallCount",
  count(*) filter (where is_error) as "errorCount",
  coalesce(round(avg(latency_ms)::numeric, 2), 0) as "avgLatencyMs",
  coalesce(sum(cost_usd), 0) as "totalCostUsd",
  count(distinct run_id) as "uniqueSessions"`;

export interface Measures {
  eventCount: number;
  toolCallCount: number;
  errorCount: number;
  avgLatencyMs: number;
  totalCostUsd: number;
  uniqueSessions: number;
}

@Injectable()
export class AnalyticsQueries {
  constructor(
    private readonly reads: TenantReads,
    @Inject(port('clock')) private readonly clock: Clock,
  ) {}

  async analytics(tenantId: string, query: AnalyticsQuery) {
    const range = analyticsRange(query, this.clock.now());
    const matching = sql`from events
      where tenant_id = ${tenantId} and occurred_at >= ${range.from} and occurred_at <= ${range.to}
      ${query.agentId === undefined ? sql`` : sql`and agent_id = ${query.agentId}`}`;
    return this.reads.read(tenantId, async (db) => {
      const buckets = await sql<Measures & { timestamp: string }>`
        select date_trunc(${query.granularity}, occurred_at, 'UTC') as "timestamp", ${MEASURES} ${matching}
        group by 1 order by 1`.execute(db);
      const totals = await sql<Measures & { uniqueAgents: number }>`
        select ${MEASURES}, count(distinct agent_id) as "uniqueAgents" ${matching}`.execute(db);
      return { buckets: buckets.rows, totals: only(totals.rows), ...range, granularity: query.granularity };
    });
  }

  async stats(tenantId: string) {
    return this.reads.read(tenantId, async (db) => {
      const totals = await totalsOf(db, tenantId);
      const span = await spanOf(db, tenantId);
      const { bytesPerEvent, ...dates } = span;
      return { ...totals, ...dates, storageSizeBytes: Math.round(bytesPerEvent * totals.totalEvents) };
    });
  }

  async overview(tenantId: string) {
    const now = this.clock.now();
    const today = dayOf(now);
    const yesterday = dayOf(now - 86_400_000);
    return this.reads.read(tenantId, async (db) => {
      const days = await daysOf(db, tenantId, [today, yesterday]);
      const counts = await agentCountsOf(db, tenantId, `${today}T00:00:00.000Z`);
      const ofToday = days.get(today) ?? NOTHING;
      const errorRate = ofToday.events === 0 ? 0 : ofToday.errors / ofToday.events;
      return { today: ofToday, yesterday: days.get(yesterday) ?? NOTHING, errorRate, ...counts };
    });
  }
}

const NOTHING = { events: 0, errors: 0, sessions: 0, toolCalls: 0, llmCalls: 0, costUsd: 0 };

/** Reads the maintained totals instead of counting all events. */
async function totalsOf(db: ReadOnly, tenantId: string) {
  return db
    .selectFrom('agents')
    .where('tenant_id', '=', tenantId)
    .select((eb) => [
      sql<number>`coalesce(sum(event_count), 0)`.as('totalEvents'),
      sql<number>`coalesce(sum(run_count), 0)`.as('totalSessions'),
      eb.fn.countAll<number>().as('totalAgents'),
    ])
    .executeTakeFirstOrThrow();
}

async function spanOf(db: ReadOnly, tenantId: string) {
  const { rows } = await sql<{ oldestEvent: string | null; newestEvent: string | null; bytesPerEvent: number }>`
    select
      (select occurred_at from events where tenant_id = ${tenantId} order by occurred_at asc limit 1) as "oldestEvent",
      (select occurred_at from events where tenant_id = ${tenantId} order by occurred_at desc limit 1) as "newestEvent",
      (select coalesce(avg(size), 0) from (
        select pg_column_size(events.*) as size from events where tenant_id = ${tenantId}
        order by occurred_at desc limit 500) as newest) as "bytesPerEvent"`.execute(db);
  return only(rows);
}

async function daysOf(db: ReadOnly, tenantId: string, days: readonly string[]) {
  const rows = await db
    .selectFrom('agent_daily')
    .where('tenant_id', '=', tenantId)
    .where('day', 'in', days)
    .groupBy('day')
    .select((eb) => [
      'day',
      eb.fn.sum<number>('event_count').as('events'),
      eb.fn.sum<number>('error_count').as('errors'),
      eb.fn.sum<number>('run_count').as('sessions'),
      eb.fn.sum<number>('tool_call_count').as('toolCalls'),
      eb.fn.sum<number>('llm_call_count').as('llmCalls'),
      eb.fn.sum<number>('cost_usd').as('costUsd'),
    ])
    .execute();
  return new Map(rows.map(({ day, ...totals }) => [day, totals]));
}

async function agentCountsOf(db: ReadOnly, tenantId: string, activeSince: string) {
  return db
    .selectFrom('agents')
    .where('tenant_id', '=', tenantId)
    .select((eb) => [
      eb.fn.countAll<number>().as('totalAgents'),
      eb.fn.countAll<number>().filterWhere('last_seen_at', '>=', activeSince).as('activeAgents'),
      eb.fn.countAll<number>().filterWhere(isPaused(tenantId)).as('pausedAgents'),
    ])
    .executeTakeFirstOrThrow();
}

function dayOf(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10);
}

function only<T>(rows: readonly T[]): T {
  const [row] = rows;
  if (row === undefined) throw new Error('an aggregate query returned no row');
  return row;
}

/** Default and maximum range of each granularity. An answer has at most about 800 buckets. */
const REACH: Record<Granularity, { byDefault: number; most: number }> = {
  hour: { byDefault: DAY_MS, most: 31 * DAY_MS },
  day: { byDefault: 30 * DAY_MS, most: 366 * DAY_MS },
  week: { byDefault: 12 * 7 * DAY_MS, most: 3 * 366 * DAY_MS },
};

/**
 * Returns the closed range that a query asks for.
 * @throws ProblemException 400 if the range has more buckets than one answer may hold
 */
export function analyticsRange(query: AnalyticsQuery, nowMs: number): { from: string; to: string } {
  const reach = REACH[query.granularity];
  const { fromMs, toMs } = endsOf(query, nowMs, reach.byDefault);
  if (fromMs > toMs) throw refused('from', 'must not be later than now');
  if (toMs - fromMs > reach.most) {
    const days = reach.most / DAY_MS;
    const message = `spans more than ${days} days, the maximum for granularity "${query.granularity}"; ask for less or for a coarser one`;
    throw refused(query.range === undefined ? 'from' : 'range', message);
  }
  return { from: new Date(Math.max(0, fromMs)).toISOString(), to: new Date(toMs).toISOString() };
}

function endsOf(query: AnalyticsQuery, nowMs: number, byDefault: number) {
  const { from, to } = withEnds(query, nowMs);
  const toMs = to === undefined ? nowMs : Date.parse(to);
  return { fromMs: from === undefined ? toMs - byDefault : Date.parse(from), toMs };
}

function refused(path: string, message: string): ProblemException {
  return new ProblemException(400, 'Validation failed', { details: [{ path, message }] });
}
