import { type Kysely, sql } from 'kysely';
import { openTable, RUN_TRACKING } from './open-table.ts';

/** Runs that were deleted: what still comes of them is dropped. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table deleted_runs (
      tenant_id text not null,
      run_id text not null,
      deleted_at timestamptz not null default now(),
      -- When to look again for what was on its way meanwhile; null: never again.
      next_pass_at timestamptz default now(),
      primary key (tenant_id, run_id)
    );
    create index deleted_runs_due on deleted_runs (next_pass_at) where next_pass_at is not null;
    alter table deleted_runs enable row level security;
    alter table deleted_runs force row level security;
  `.execute(db);
  await openTable(db, 'deleted_runs', { writers: [RUN_TRACKING], readers: [] });
  await sql
    .raw(`
    grant insert on audit_entries to ${RUN_TRACKING};
    create policy audit_entries_run_tracking on audit_entries for insert to ${RUN_TRACKING} with check (true);
  `)
    .execute(db);
}
