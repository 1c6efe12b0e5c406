import { type Kysely, sql } from 'kysely';

/** Limits of depth, children and runs of a tenant's run trees, and budgets of run trees. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    alter table tenants
      -- Null: no limits.
      add column tree_limits jsonb,
      add column tree_limits_version integer not null default 0;
    alter table budgets
      drop constraint budgets_scope_check,
      add constraint budgets_scope_check check (scope in ('run', 'tree', 'session', 'agent', 'actor', 'tenant'))
  `.execute(db);
}
