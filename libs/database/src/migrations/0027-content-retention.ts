import { type Kysely, sql } from 'kysely';

/** How long a tenant keeps what its events say, where that is shorter than the events themselves. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    alter table tenants
      -- Null: as long as the events.
      add column content_retention_days integer check (content_retention_days between 1 and 3650);
    alter table events
      -- Payload and metadata were removed, save for what figures and trees are made of. Null: they are as they came.
      add column content_expired boolean;
  `.execute(db);
}
