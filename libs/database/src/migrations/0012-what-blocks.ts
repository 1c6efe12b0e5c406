import { type Kysely, sql } from 'kysely';
import { INGEST } from './open-table.ts';

/**
 * Gateways see which tenants have a rule or a budget that blocks when it cannot be evaluated, so that silence blocks
 * there. They see no more of either than that takes.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql
    .raw(`
    grant select (tenant_id, on_unavailable, enabled, mode, dry_run, deleted_at) on guardrail_rules to ${INGEST};
    create policy guardrail_rules_gateways on guardrail_rules for select to ${INGEST} using (true);
    create index guardrail_rules_that_block on guardrail_rules (tenant_id)
      where on_unavailable = 'block' and deleted_at is null;

    grant select (tenant_id, on_unavailable, enabled, deleted_at) on budgets to ${INGEST};
    create policy budgets_gateways on budgets for select to ${INGEST} using (true);
  `)
    .execute(db);
}
