import { type Kysely, sql } from 'kysely';

/** A key may be bound to agents: it then speaks for these only. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`alter table api_keys add column agents text[] check (cardinality(agents) > 0)`.execute(db);
}
