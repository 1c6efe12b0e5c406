import { type Kysely, sql } from 'kysely';
import { EVALUATOR, openTable, RUN_TRACKING } from './open-table.ts';

/** What decision rules did per minute and version, and what the evaluator needs to judge their false rejections. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table rule_minutes (
      tenant_id text not null,
      rule_id text not null,
      rule_version integer not null,
      minute timestamptz not null,
      asked integer not null,
      -- Asked calls for which the rule was enforced: all of them, or the share of a canary.
      enforced integer not null,
      -- Blocked, ended or held for approval.
      stopped integer not null,
      would_stop integer not null,
      bypassed integer not null,
      primary key (tenant_id, rule_id, rule_version, minute)
    );
    create index rule_minutes_by_minute on rule_minutes using brin (minute);
    create index guardrail_rules_with_rollback on guardrail_rules (tenant_id)
      where rollback is not null and deleted_at is null;
    alter table rule_minutes enable row level security;
    alter table rule_minutes force row level security;
  `.execute(db);
  await openTable(db, 'rule_minutes', { writers: [RUN_TRACKING], readers: [EVALUATOR] });
  await sql
    .raw(`
    grant select (tenant_id, decision_id, run_id, agent_id, call_id, effect, would_have, evaluated_rules, approval_id,
      decided_at) on decisions to ${EVALUATOR};
    create policy decisions_judged on decisions for select to ${EVALUATOR} using (true);
  `)
    .execute(db);
}
