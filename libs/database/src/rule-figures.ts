import { type Kysely, sql } from 'kysely';
import type { Tables } from './schema/tables.ts';

/** Maximum number of stopped calls whose outcome is looked up; the newest ones. */
const MAX_JUDGED_CALLS = 1_000;

/**
 * SQL that is true for a decision (`bypasses`, `evaluated_rules`) in which a rule in force could not be evaluated. A
 * rule in shadow lets nothing pass, and data that a call lacks is no failure of the platform.
 */
export const BYPASSED_DECISION = `exists (
  select from jsonb_array_elements(bypasses) as bypass
  where bypass->>'why' <> 'missing'
    and not evaluated_rules @> jsonb_build_array(jsonb_build_object('ruleId', bypass->'ruleId', 'mode', 'shadow')))`;

interface RuleCounts {
  readonly asked: number;
  readonly enforced: number;
  readonly stopped: number;
  readonly wouldStop: number;
  readonly bypassed: number;
}

/** Of the calls a rule stopped or would have stopped, the judged ones and those among them that were harmless. */
interface JudgedStops {
  readonly judged: number;
  readonly harmless: number;
}

/** The harmless ones that no person judged: the call happened in shadow and its agent reported success. */
interface JudgedByAgents {
  readonly harmlessInShadow: number;
  readonly harmlessAgents: number;
}

type RuleFigures = RuleCounts & JudgedStops & { readonly since: string };

interface RuleRef {
  readonly tenantId: string;
  readonly ruleId: string;
  /** Earlier versions are not counted. */
  readonly fromVersion: number;
  /** RFC 3339. */
  readonly since: string;
}

/** Returns what a decision rule did since its meaning last changed, at `since` (RFC 3339). */
export async function ruleFigures(
  db: Kysely<Tables>,
  rule: {
    readonly tenantId: string;
    readonly id: string;
    readonly version: number;
    readonly meaningVersion?: number | undefined;
    readonly updatedAt: string;
  },
): Promise<RuleFigures> {
  const { tenantId, id: ruleId, version, meaningVersion: fromVersion = version, updatedAt } = rule;
  const first = await db
    .selectFrom('rule_versions')
    .select('changed_at')
    .where('tenant_id', '=', tenantId)
    .where('rule_id', '=', ruleId)
    .where('version', '=', fromVersion)
    .executeTakeFirst();
  const since = first?.changed_at ?? updatedAt;
  const ref = { tenantId, ruleId, fromVersion, since };
  const { judged, harmless } = await judgedStops(db, ref);
  return { ...(await ruleCounts(db, ref)), judged, harmless, since };
}

async function ruleCounts(db: Kysely<Tables>, { tenantId, ruleId, fromVersion, since }: RuleRef): Promise<RuleCounts> {
  const { rows } = await sql<RuleCounts>`
    select coalesce(sum(asked), 0)::int as asked, coalesce(sum(enforced), 0)::int as enforced,
      coalesce(sum(stopped), 0)::int as stopped, coalesce(sum(would_stop), 0)::int as "wouldStop",
      coalesce(sum(bypassed), 0)::int as bypassed
    from rule_minutes
    where tenant_id = ${tenantId} and rule_id = ${ruleId} and rule_version >= ${fromVersion}
      and minute >= date_trunc('minute', ${since}::timestamptz)`.execute(db);
  return rows[0] ?? { asked: 0, enforced: 0, stopped: 0, wouldStop: 0, bypassed: 0 };
}

/**
 * Judges stops by what followed. A stop was harmless if a person approved the call, or if the call happened because the
 * rule was in shadow, it succeeded, its run succeeded, and the run has neither alert nor refusal by a person. Blocked
 * calls and calls of running runs cannot be judged.
 */
export async function judgedStops(
  db: Kysely<Tables>,
  { tenantId, ruleId, fromVersion, since }: RuleRef,
): Promise<JudgedStops & JudgedByAgents> {
  const mentions = JSON.stringify([{ ruleId, violated: true }]);
  const { rows } = await sql<JudgedStops & JudgedByAgents>`
    with stops as (
      -- An agent asks again while its call waits for a person: that is one stop.
      select d.run_id, d.call_id, max(d.agent_id) as agent_id, max(d.approval_id) as approval_id, max(d.decided_at) as decided_at,
        bool_or(f->>'mode' = 'shadow') as shadow, bool_or(f->>'effect' = 'ask') as asks
      from decisions d cross join lateral jsonb_array_elements(d.evaluated_rules) as f
      where d.tenant_id = ${tenantId} and d.decided_at >= ${since}::timestamptz
        and (d.effect <> 'allow' or d.would_have is not null or d.approval_id is not null)
        and d.evaluated_rules @> ${mentions}::jsonb and f->>'ruleId' = ${ruleId} and (f->>'violated')::boolean
        and (f->>'ruleVersion')::int >= ${fromVersion}
      group by coalesce(d.approval_id, d.decision_id), d.run_id, d.call_id
      order by max(d.decided_at) desc limit ${MAX_JUDGED_CALLS}
    ), followed as (
      select s.*, r.status,
        (select a.status from alerts a where a.tenant_id = ${tenantId} and a.alert_id = s.approval_id) as approval,
        exists (select from alerts a where a.tenant_id = ${tenantId} and a.run_id = s.run_id
          and (a.kind <> 'approval' or a.status = 'denied')) as flagged,
        (select bool_or(e.is_error) from events e where e.tenant_id = ${tenantId} and e.run_id = s.run_id
          and e.call_id = s.call_id and e.kind in ('tool.completed', 'llm.completed')
          and e.occurred_at >= s.decided_at - interval '1 day') as failed
      from stops s left join runs r on r.tenant_id = ${tenantId} and r.run_id = s.run_id
    )
    select count(*) filter (where by_run or (asks and approval in ('approved', 'denied')))::int as judged,
      count(*) filter (where by_agent or by_person)::int as harmless,
      count(*) filter (where by_agent and not by_person)::int as "harmlessInShadow",
      count(distinct agent_id) filter (where by_agent and not by_person)::int as "harmlessAgents"
    from (
      select *, shadow and status is not null and status <> 'running' as by_run,
        coalesce(shadow and status = 'succeeded' and not flagged and failed is not true, false) as by_agent,
        coalesce(asks and approval = 'approved', false) as by_person
      from followed
    ) as followed`.execute(db);
  return rows[0] ?? { judged: 0, harmless: 0, harmlessInShadow: 0, harmlessAgents: 0 };
}
