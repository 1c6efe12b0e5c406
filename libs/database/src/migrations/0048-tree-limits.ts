import { type Kysely, sql } from 'kysely';

/** Limits of depth, children and runs of a tenant's run trees. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    alter table tenants
      -- Null: no limits.
      add column tree_limits jsonb,
      add column tree_limits_version integer not null default 0
  `.execute(db);
}
