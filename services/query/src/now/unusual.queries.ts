import { DAY_MS, HOUR_MS, MINUTE_MS } from '@agentlens/contracts';
import type { Unusual } from '@agentlens/operations';
import { type Clock, port } from '@agentlens/platform';
import { Inject, Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { deployTime } from '../audit/audit.controller.ts';
import { type ReadOnly, TenantReads } from '../http/tenant-reads.ts';

const MAX_ROWS = 5;

/** A changed rule is named if it stops at least this many calls, this share, and this many times as much as before. */
const MIN_STOPPED = 5;
const MIN_STOP_SHARE = 0.2;
const MIN_STOP_FACTOR = 3;
/** A deploy this long before a change belongs to it. */
const DEPLOY_BEFORE_MS = 30 * MINUTE_MS;

/** Spend and errors of the last hour are unusual from this amount and this many times the usual. */
const MIN_SPEND_USD = 1;
const MIN_ERRORS = 20;
const MIN_FACTOR = 5;
const USUAL_DAYS = 7;
/** With fewer such days, the usual is the mean hour of the last day. */
const MIN_USUAL_DAYS = 3;
const MIN_HOURS = 3;

/** Equal calls of one run within an hour that make a loop. */
const MIN_EQUAL_CALLS = 15;
/** A loop has ended if it made no call for this long. */
const LOOP_OVER_MS = 10 * MINUTE_MS;

/** What differs from before: facts that no single threshold shows. */
@Injectable()
export class UnusualQueries {
  constructor(
    private readonly reads: TenantReads,
    @Inject(port('clock')) private readonly clock: Clock,
  ) {}

  async read(tenantId: string): Promise<Unusual> {
    const nowMs = this.clock.now();
    return this.reads.read(tenantId, async (db) => ({
      changedRules: await changedRules(db, tenantId, nowMs),
      ...(await findUnusualHour(db, tenantId, nowMs)),
      loops: await findLoops(db, tenantId, nowMs),
      unanswerable: await countUnanswerable(db, tenantId),
    }));
  }
}

const iso = (ms: number) => new Date(ms).toISOString();

/** Rules that stop much more since their last change, within a day. */
async function changedRules(db: ReadOnly, tenantId: string, nowMs: number): Promise<Unusual['changedRules']> {
  const { rows } = await sql<
    Omit<Unusual['changedRules'][number], 'agentId' | 'deploy' | 'ruleset'> & {
      readonly agentId: string | null;
      readonly deploy: string | null;
      readonly ruleset: string | null;
    }
  >`
    with latest as (
      select rule_id, name, version, agent_id, ruleset from guardrail_rules
      where tenant_id = ${tenantId} and deleted_at is null and mode in ('enforce', 'canary') and enabled
    ),
    -- What a version does may stay the same, such as in a rename; the minutes tell.
    since as (
      select l.rule_id, l.name, l.version, l.agent_id, l.ruleset, v.changed_at, v.changed_by
      from latest l join rule_versions v
        on v.tenant_id = ${tenantId} and v.rule_id = l.rule_id and v.version = l.version
      where v.changed_at > ${iso(nowMs - DAY_MS)}::timestamptz
    ),
    counted as (
      select s.rule_id, s.name, s.version, s.agent_id, s.ruleset, s.changed_at, s.changed_by,
        coalesce(sum(m.enforced) filter (where m.rule_version = s.version), 0)::int as asked,
        coalesce(sum(m.stopped) filter (where m.rule_version = s.version), 0)::int as stopped,
        coalesce(sum(m.enforced) filter (where m.rule_version < s.version), 0)::int as "askedBefore",
        coalesce(sum(m.stopped) filter (where m.rule_version < s.version), 0)::int as "stoppedBefore",
        max(m.minute) filter (where m.rule_version = s.version and m.stopped > 0) as last_stop
      from since s join rule_minutes m
        on m.tenant_id = ${tenantId} and m.rule_id = s.rule_id and m.minute > s.changed_at - interval '1 day'
      group by 1, 2, 3, 4, 5, 6, 7
    )
    select rule_id as "ruleId", name, version, agent_id as "agentId", ruleset, changed_at as "changedAt", changed_by as "changedBy", asked, stopped,
      "askedBefore", "stoppedBefore", (
        select after->>'version' || coalesce(' of ' || (after->>'agentId'), '') from audit_entries a
        cross join lateral (select ${deployTime('a')} as deployed_at) d
        where a.tenant_id = ${tenantId} and a.kind = 'deploy.recorded' and d.deployed_at <= c.changed_at + interval '1 minute'
          and d.deployed_at > c.changed_at - ${sql.lit(DEPLOY_BEFORE_MS / 1_000)} * interval '1 second'
          -- It is recorded after it happened. The index has this time only.
          and a.at > c.changed_at - ${sql.lit(DEPLOY_BEFORE_MS / 1_000)} * interval '1 second'
        order by d.deployed_at desc, a.entry_id desc limit 1) as deploy
    from counted c
    where stopped >= ${sql.lit(MIN_STOPPED)} and stopped >= ${sql.lit(MIN_STOP_SHARE)} * asked
      and last_stop > ${iso(nowMs - HOUR_MS)}::timestamptz
      and ("askedBefore" = 0 or stopped::float / asked >= ${sql.lit(MIN_STOP_FACTOR)} * "stoppedBefore" / "askedBefore")
    order by stopped desc, rule_id limit ${sql.lit(MAX_ROWS)}`.execute(db);
  return rows.map(({ agentId, deploy, ruleset, ...row }) => ({
    ...row,
    ...(agentId === null ? {} : { agentId }),
    ...(ruleset === null ? {} : { ruleset }),
    ...(deploy === null ? {} : { deploy }),
  }));
}

/** An amount of the last hour, and of the hours to compare it with. */
interface HourRow {
  readonly now: number;
  /** The median of the same hour of earlier days. */
  readonly usual: number;
  /** The mean hour of the last day. */
  readonly mean: number;
}

/** The last hour beside the same hour of earlier days, or beside the mean hour of the last day. */
async function findUnusualHour(
  db: ReadOnly,
  tenantId: string,
  nowMs: number,
): Promise<Pick<Unusual, 'spend' | 'errors'>> {
  const { rows } = await sql<{ days: number; hours: number; spend: HourRow; errors: HourRow }>`
    with hours as (
      select bucket, sum(cost_usd)::float as usd, sum(error_count)::float as errors from activity
      where tenant_id = ${tenantId} and grain = 'hour' and bucket > ${iso(nowMs - (USUAL_DAYS + 1) * DAY_MS)}::timestamptz
      group by bucket
    ),
    same_hour as (
      select count(*)::int as days,
        coalesce(percentile_cont(0.5) within group (order by usd), 0) as usd,
        coalesce(percentile_cont(0.5) within group (order by errors), 0) as errors
      from hours
      where bucket <= ${iso(nowMs - DAY_MS)}::timestamptz
        and extract(hour from bucket at time zone 'UTC') = extract(hour from ${iso(nowMs)}::timestamptz at time zone 'UTC')
    ),
    last_day as (
      select count(*)::int as hours, coalesce(avg(usd), 0) as usd, coalesce(avg(errors), 0) as errors from hours
      where bucket > ${iso(nowMs - DAY_MS)}::timestamptz and bucket < ${iso(nowMs - HOUR_MS)}::timestamptz
        and bucket < date_trunc('hour', ${iso(nowMs)}::timestamptz)
    ),
    last_hour as (
      select coalesce(sum(cost_usd), 0)::float as usd, coalesce(sum(error_count), 0)::float as errors from activity
      where tenant_id = ${tenantId} and grain = 'minute' and bucket > ${iso(nowMs - HOUR_MS)}::timestamptz
    )
    select s.days, d.hours,
      json_build_object('now', h.usd, 'usual', s.usd, 'mean', d.usd) as spend,
      json_build_object('now', h.errors, 'usual', s.errors, 'mean', d.errors) as errors
    from same_hour s, last_day d, last_hour h`.execute(db);
  const [row] = rows;
  if (row === undefined) return { spend: null, errors: null };
  const isKnown = row.days >= MIN_USUAL_DAYS;
  if (!isKnown && row.hours < MIN_HOURS) return { spend: null, errors: null };
  const of = isKnown ? 'this hour' : 'last day';
  const spend = findExcess(row.spend, isKnown, MIN_SPEND_USD);
  const errors = findExcess(row.errors, isKnown, MIN_ERRORS);
  return {
    spend: spend && { usd: spend.now, usualUsd: spend.usual, of },
    errors: errors && { errors: errors.now, usualErrors: errors.usual, of },
  };
}

/** Returns null for an hour that is not unusual. */
function findExcess({ now, usual, mean }: HourRow, isKnown: boolean, min: number) {
  const compared = isKnown ? usual : mean;
  return now < min || now < MIN_FACTOR * compared ? null : { now, usual: compared };
}

/** Runs that still repeat one call with the same arguments. */
async function findLoops(db: ReadOnly, tenantId: string, nowMs: number): Promise<Unusual['loops']> {
  const { rows } = await sql<Unusual['loops'][number]>`
    select run_id as "runId", max(agent_id) as "agentId", tool_name as "toolName", count(*)::int as times,
      min(decided_at) as since
    from decisions
    where tenant_id = ${tenantId} and decided_at > ${iso(nowMs - HOUR_MS)}::timestamptz and phase = 'tool.before'
      and tool_name is not null and not asked_again
    group by run_id, tool_name, inputs_digest
    having count(*) >= ${sql.lit(MIN_EQUAL_CALLS)} and max(decided_at) > ${iso(nowMs - LOOP_OVER_MS)}::timestamptz
    order by times desc, run_id limit ${sql.lit(MAX_ROWS)}`.execute(db);
  return rows;
}

/** Approvals of runs that no longer wait; approving them lets nothing happen unless the run is resumed. */
async function countUnanswerable(db: ReadOnly, tenantId: string): Promise<number> {
  const { rows } = await sql<{ approvals: number }>`
    select count(*)::int as approvals from alerts a join runs r on r.tenant_id = a.tenant_id and r.run_id = a.run_id
    where a.tenant_id = ${tenantId} and a.kind = 'approval' and a.status in ('pending', 'acknowledged')
      and r.status <> 'running'`.execute(db);
  return rows[0]?.approvals ?? 0;
}
