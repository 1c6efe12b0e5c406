import { type Kysely, sql } from 'kysely';
import { EVALUATOR, INGEST } from './open-table.ts';

/** Canary rules: their share, what a promotion requires, when they are taken back, and suspensions. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql
    .raw(`
    alter table guardrail_rules
      drop constraint guardrail_rules_mode_check,
      add constraint guardrail_rules_mode_check check (mode in ('enforce', 'canary', 'shadow', 'off')),
      add column rollout jsonb,
      add column promotion_guard jsonb,
      add column rollback jsonb,
      add column suspended jsonb,
      -- The version in which the meaning of the rule last changed, to which approvals are bound.
      add column meaning_version integer;
    -- The gateway reads whether a rule blocks, which a suspended one does not.
    grant select (suspended) on guardrail_rules to ${INGEST};
    -- The owner of the tables may be an ordinary login, which row level security would show no rule.
    set local role ${EVALUATOR};
    update guardrail_rules set meaning_version = version;
    reset role;
  `)
    .execute(db);
}
