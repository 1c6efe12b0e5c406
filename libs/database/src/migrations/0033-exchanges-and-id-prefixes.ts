import { type Kysely, sql } from 'kysely';

export async function up(db: Kysely<unknown>): Promise<void> {
  // What an attempt sent and what it was answered, redacted and cut: a row is as old as its attempt and goes with it.
  await sql`alter table delivery_attempts add column exchange jsonb`.execute(db);
  // Ids that clients choose are looked for by their beginning, whatever the collation of the database.
  await sql`
    create index runs_by_id_prefix on runs (tenant_id, run_id text_pattern_ops);
    create index runs_by_session_prefix on runs (tenant_id, session_id text_pattern_ops) where session_id is not null
  `.execute(db);
}
