import { type Kysely, sql } from 'kysely';

/** Rules that files manage: their key, the ruleset they belong to, and the version it applied last. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    alter table guardrail_rules
      add column key text,
      add column ruleset text,
      add column applied_version integer;
    create unique index guardrail_rules_by_key on guardrail_rules (tenant_id, key)
      where key is not null and deleted_at is null;
  `.execute(db);
}
