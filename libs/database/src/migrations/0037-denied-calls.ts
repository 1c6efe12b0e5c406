import { type Kysely, sql } from 'kysely';

/** Whether a call that a person denied is denied again without asking, if its run repeats it. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    alter table tenants
      add column denied_calls text not null default 'deny' check (denied_calls in ('deny', 'ask'))
  `.execute(db);
}
