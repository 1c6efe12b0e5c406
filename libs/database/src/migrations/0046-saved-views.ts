import { type Kysely, sql } from 'kysely';
import { openTable, QUERY } from './open-table.ts';

/** Filters of the console's lists under a name, shared by the people of a tenant. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table saved_views (
      tenant_id text not null,
      view_id text not null,
      page text not null,
      name text not null,
      query text not null,
      updated_at timestamptz not null,
      updated_by text not null,
      primary key (tenant_id, view_id),
      unique (tenant_id, page, name)
    );
    alter table saved_views enable row level security;
    alter table saved_views force row level security;
  `.execute(db);
  await openTable(db, 'saved_views', { writers: [QUERY], readers: [] });
}
