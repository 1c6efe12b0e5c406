import { type Kysely, sql } from 'kysely';

/** Every evaluator looks once a second for rules that were taken back and have no alert yet. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`create index rule_versions_rollbacks on rule_versions (changed_at) where source = 'rollback'`.execute(db);
}
