import { type Kysely, sql } from 'kysely';
import { DISPATCHER, openTable } from './open-table.ts';

/** What an approval is about, whole: redacted, and sealed for the reviewers of its tenant. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table approval_calls (
      tenant_id text not null,
      alert_id text not null,
      sealed text not null,
      -- Why a part of it is missing; null: it is whole.
      cut text,
      created_at timestamptz not null,
      primary key (tenant_id, alert_id)
    );
    alter table approval_calls enable row level security;
    alter table approval_calls force row level security;
  `.execute(db);
  await openTable(db, 'approval_calls', { writers: [DISPATCHER], readers: [] });
}
