import { type Kysely, sql } from 'kysely';
import { DISPATCHER, openTable, QUERY } from './open-table.ts';

/** People who decide approvals in the place of another person for some time, and votes that they have cast so. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table deputies (
      tenant_id text not null,
      person_id text not null,
      deputy_id text not null,
      starts_at timestamptz not null,
      ends_at timestamptz not null,
      created_at timestamptz not null,
      primary key (tenant_id, person_id, deputy_id)
    );
    create index deputies_by_deputy on deputies (tenant_id, deputy_id);
    alter table deputies enable row level security;
    alter table deputies force row level security;

    -- Ids of the people in whose place the vote was cast.
    alter table approval_votes add column stands_in_for text[];
  `.execute(db);
  await openTable(db, 'deputies', { writers: [QUERY], readers: [DISPATCHER] });
}
