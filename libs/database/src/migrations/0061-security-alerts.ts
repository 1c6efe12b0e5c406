import { type Kysely, sql } from 'kysely';

/** Alerts about the platform's own access, such as the use of a break-glass key. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    alter table alerts drop constraint alerts_kind_check;
    alter table alerts add constraint alerts_kind_check check (kind in ('approval', 'breaker', 'rule', 'spend', 'security'));
  `.execute(db);
}
