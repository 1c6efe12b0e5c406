import { type Kysely, sql } from 'kysely';
import { DISPATCHER, openTable, QUERY } from './open-table.ts';

/** Schedules of people on call, and people who take a shift of another. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table on_call_schedules (
      tenant_id text not null,
      schedule_id text not null,
      name text not null,
      -- JSON list of OnCallLayer.
      layers jsonb not null,
      created_at timestamptz not null,
      version integer not null default 1,
      primary key (tenant_id, schedule_id)
    );
    create table on_call_overrides (
      tenant_id text not null,
      schedule_id text not null,
      override_id text not null,
      person_id text not null,
      starts_at timestamptz not null,
      ends_at timestamptz not null,
      created_at timestamptz not null,
      primary key (tenant_id, schedule_id, override_id)
    );
  `.execute(db);
  for (const table of ['on_call_schedules', 'on_call_overrides']) {
    await sql
      .raw(`alter table ${table} enable row level security; alter table ${table} force row level security`)
      .execute(db);
    await openTable(db, table, { writers: [QUERY], readers: [DISPATCHER] });
  }
}
