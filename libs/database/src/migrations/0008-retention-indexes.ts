import { type Kysely, sql } from 'kysely';

/** Rows in order of time: a few pages say where those past retention lie, and inserting costs next to nothing. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create index deliveries_by_time on deliveries using brin (created_at);
    create index alerts_by_time on alerts using brin (created_at);
  `.execute(db);
}
