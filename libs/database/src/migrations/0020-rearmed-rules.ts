import { type Kysely, sql } from 'kysely';

/** When the cooldown of a rule was ended for an agent, because somebody ended the pause it ordered. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`alter table trigger_cooldowns add column rearmed_at timestamptz`.execute(db);
}
