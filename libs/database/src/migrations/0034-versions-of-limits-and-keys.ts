import { type Kysely, sql } from 'kysely';

/** Limits of breakers and API keys are changed only while they are at the version that whoever changes them has read. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    alter table breaker_limits add column version integer not null default 1;
    alter table api_keys add column version integer not null default 1;
  `.execute(db);
}
