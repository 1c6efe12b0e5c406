import { type Kysely, sql } from 'kysely';

/** Alerts about what is unlike before, such as a rule that stops much more since it changed. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    alter table alerts drop constraint alerts_kind_check;
    alter table alerts add constraint alerts_kind_check
      check (kind in ('approval', 'breaker', 'rule', 'spend', 'security', 'change'));
  `.execute(db);
}
