import { type Kysely, sql } from 'kysely';

/** With which key the call was asked for, so that the same key need not be taken for another's word. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`alter table alerts add column asked_by text`.execute(db);
}
