import { type Kysely, sql } from 'kysely';

/** What an attempt sent and what it was answered, redacted and cut: a row is as old as its attempt and goes with it. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`alter table delivery_attempts add column exchange jsonb`.execute(db);
}
