import type { Decision } from '@agentlens/contracts';
import type { Pool } from 'pg';
import { ACTIVITY_OF_DECISIONS } from '../activity.ts';
import { followRemoval } from '../log/removed-entries.ts';

/**
 * Skips decisions of deleted runs. Counts only inserted decisions, so each counts once. A decision whose call waits for
 * the approval of an earlier decision is marked and not counted. Rows are written in a fixed order to avoid deadlocks.
 */
const RECORD_DECISIONS = `
with stored as (
  insert into decisions (tenant_id, decision_id, run_id, agent_id, phase, tool_name, call_id, verdict, control, effect, cause,
    message, evaluated_rules, final_rule_id, approval_id, bypasses, inputs_digest, latency_ms, decided_at, reason, budget_id,
    arguments, arguments_cut, would_have, decider, tool_tags, asked_again)
  select "tenantId", id, "runId", "agentId", phase, "toolName", "callId", verdict, control, effect, cause, message,
    "evaluatedRules", "finalRuleId", "approvalId", bypasses, "inputsDigest", "latencyMs", "decidedAt", reason, "budgetId",
    arguments, "argumentsCut", "wouldHave", decider, "toolTags",
    cause->>'kind' = 'HITL_PENDING' and "approvalId" is not null and (
      exists (
        select from decisions as earlier where earlier.tenant_id = d."tenantId" and earlier.approval_id = d."approvalId"
          and earlier.cause->>'kind' = 'HITL_PENDING')
      or row_number() over (
        partition by "tenantId", "approvalId", cause->>'kind' order by "decidedAt", id) > 1)
  from jsonb_to_recordset($1::jsonb) as d("tenantId" text, id text, "runId" text, "agentId" text, phase text,
    "toolName" text, "callId" text, verdict text, control text, effect text, cause jsonb, message text,
    "evaluatedRules" jsonb, "finalRuleId" text, "approvalId" text, bypasses jsonb, "inputsDigest" text,
    "latencyMs" double precision, "decidedAt" timestamptz, reason text, "budgetId" text, arguments jsonb,
    "argumentsCut" jsonb, "wouldHave" text, decider jsonb, "toolTags" text[])
  where not exists (
    select from deleted_runs as gone where gone.tenant_id = d."tenantId" and gone.run_id = d."runId")
  order by 1, 2
  on conflict (tenant_id, decision_id) do nothing
  returning tenant_id, decision_id, run_id, agent_id, verdict, cause, bypasses, latency_ms, decided_at, evaluated_rules,
    asked_again, decider
), logged as (
  insert into log_pending (tenant_id, kind, entry_id, at, run_id)
  select tenant_id, 'decision', decision_id, decided_at, run_id from stored
), findings as (
  select tenant_id, (decided_at at time zone 'UTC')::date as day, date_trunc('minute', decided_at) as minute,
    f->>'ruleId' as rule_id, (f->>'ruleVersion')::int as rule_version, f->>'mode' as mode,
    bypasses @> jsonb_build_array(jsonb_build_object('ruleId', f->'ruleId')) as bypassed,
    f->>'effect' as effect, (f->>'matched')::boolean as matched, (f->>'violated')::boolean as violated
  from stored cross join lateral jsonb_array_elements(evaluated_rules) as f
  where not asked_again
), counted as (
  insert into rule_daily as r (tenant_id, rule_id, day, asked, matched, blocked, asked_human, would_have)
  select tenant_id, rule_id, day, count(*), count(*) filter (where matched),
    count(*) filter (where violated and mode = 'enforce' and effect in ('block', 'terminate')),
    count(*) filter (where violated and mode = 'enforce' and effect = 'ask'),
    count(*) filter (where violated and mode = 'shadow')
  from findings
  group by 1, 2, 3
  order by 1, 2, 3
  on conflict (tenant_id, rule_id, day) do update set asked = r.asked + excluded.asked,
    matched = r.matched + excluded.matched, blocked = r.blocked + excluded.blocked,
    asked_human = r.asked_human + excluded.asked_human, would_have = r.would_have + excluded.would_have
  returning 1
), counted_by_minute as (
  insert into rule_minutes as r (tenant_id, rule_id, rule_version, minute, asked, enforced, stopped, would_stop, bypassed)
  select tenant_id, rule_id, rule_version, minute, count(*), count(*) filter (where mode = 'enforce'),
    count(*) filter (where violated and mode = 'enforce' and effect in ('ask', 'block', 'terminate')),
    count(*) filter (where violated and mode = 'shadow' and effect in ('ask', 'block', 'terminate')),
    count(*) filter (where bypassed)
  from findings
  group by 1, 2, 3, 4
  order by 1, 2, 3, 4
  on conflict (tenant_id, rule_id, rule_version, minute) do update set asked = r.asked + excluded.asked,
    enforced = r.enforced + excluded.enforced, stopped = r.stopped + excluded.stopped,
    would_stop = r.would_stop + excluded.would_stop, bypassed = r.bypassed + excluded.bypassed
), counted_by_path as (
  insert into decision_paths as p (tenant_id, hour, path, asked, rule_id, decisions)
  select tenant_id, date_trunc('hour', decided_at, 'UTC'),
    case when decider->>'by' = 'gateway' and decider->>'book' is null then 'unanswered' else decider->>'by' end,
    coalesce(decider->>'asked', ''), coalesce(decider->>'askedForRule', ''), count(*)
  from stored where decider is not null
  group by 1, 2, 3, 4, 5
  order by 1, 2, 3, 4, 5
  on conflict (tenant_id, hour, path, asked, rule_id) do update set decisions = p.decisions + excluded.decisions
), active as (${ACTIVITY_OF_DECISIONS}
)
select count(*)::int as stored from stored`;

/** A statement may run for ten seconds; this many rows take well under one. */
const ROWS_AT_ONCE = 5_000;

const DROP_DECISIONS = `
with gone as (
  delete from decisions where ctid = any(array(select ctid from decisions where decided_at < $1 limit ${ROWS_AT_ONCE}))
  returning tenant_id, decision_id
), ${followRemoval('retention', 'gone')}
select count(*)::int as dropped from gone`;

const DROP_MINUTES = `
delete from rule_minutes where ctid = any(array(select ctid from rule_minutes where minute < $1 limit ${ROWS_AT_ONCE}))`;

const DROP_PATHS = `
delete from decision_paths where ctid = any(array(select ctid from decision_paths where hour < $1 limit ${ROWS_AT_ONCE}))`;

/** Stores each decision once, however often it is delivered. */
export class DecisionStore {
  constructor(private readonly pool: Pool) {}

  /** All or nothing. @returns the number of new decisions. @throws database errors */
  async record(decisions: readonly Decision[]): Promise<number> {
    const { rows } = await this.pool.query<{ stored: number }>({
      name: 'record-decisions',
      text: RECORD_DECISIONS,
      values: [JSON.stringify(decisions)],
    });
    return rows[0]?.stored ?? 0;
  }

  /** Deletes a bounded number of rows past retention, of all tenants. @returns how many, and whether more are left */
  async dropBefore(instant: string): Promise<{ readonly dropped: number; readonly more: boolean }> {
    const { rows } = await this.pool.query<{ dropped: number }>(DROP_DECISIONS, [instant]);
    const dropped = rows[0]?.dropped ?? 0;
    const minutes = await this.pool.query(DROP_MINUTES, [instant]);
    const paths = await this.pool.query(DROP_PATHS, [instant]);
    return { dropped, more: [dropped, minutes.rowCount, paths.rowCount].includes(ROWS_AT_ONCE) };
  }
}
