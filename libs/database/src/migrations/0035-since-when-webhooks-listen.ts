import { type Kysely, sql } from 'kysely';

/** An endpoint hears what happened since it listens to it, which may be later than it was made. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`alter table webhook_endpoints add column listens_since jsonb not null default '{}'`.execute(db);
}
