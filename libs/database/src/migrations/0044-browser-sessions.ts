import { type Kysely, sql } from 'kysely';
import { INGEST, openTable, QUERY } from './open-table.ts';

/** Browsers that are signed in to the console, so that a session can be ended. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table browser_sessions (
      tenant_id text not null,
      session_id text not null,
      key_id text not null,
      user_agent text not null,
      created_at timestamptz not null,
      expires_at timestamptz not null,
      ended_at timestamptz,
      primary key (tenant_id, session_id)
    );
    create index browser_sessions_ended on browser_sessions (key_id) where ended_at is not null;
    alter table browser_sessions enable row level security;
    alter table browser_sessions force row level security;
  `.execute(db);
  await openTable(db, 'browser_sessions', { writers: [QUERY], readers: [INGEST] });
}
