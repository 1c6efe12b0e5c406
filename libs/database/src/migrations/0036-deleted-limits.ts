import { type Kysely, sql } from 'kysely';

/** Limits that are deleted and set again go on counting their versions, and a poll finds that they were deleted. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`alter table breaker_limits add column deleted_at timestamptz`.execute(db);
}
