import { type Kysely, sql } from 'kysely';
import { READER } from './open-table.ts';

/** The connection that answers if the provider of another one does not, and how long to wait for a first byte. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql
    .raw(`
    alter table provider_connections add column fallback text, add column first_byte_seconds integer;
    grant select (fallback, first_byte_seconds) on provider_connections to ${READER};
  `)
    .execute(db);
}
