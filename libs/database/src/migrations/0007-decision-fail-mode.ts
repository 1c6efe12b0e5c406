import { type Kysely, sql } from 'kysely';

/** What a tenant wants of a question that nobody could judge. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    alter table tenants add column decision_fail_mode text not null default 'allow'
      check (decision_fail_mode in ('allow', 'block'));
  `.execute(db);
}
