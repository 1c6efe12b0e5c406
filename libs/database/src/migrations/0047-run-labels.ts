import { type Kysely, sql } from 'kysely';
import { EVALUATOR, openTable } from './open-table.ts';

/** Labels of run trees, from which the shared memory is restored after a loss, and when each tenant's was lost. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table run_labels (
      tenant_id text not null,
      -- The topmost known run when the label was set.
      run_id text not null,
      label text not null,
      cause jsonb not null,
      set_at timestamptz not null,
      primary key (tenant_id, run_id, label)
    );
    create index run_labels_by_time on run_labels (tenant_id, set_at);
    create table run_label_stores (
      tenant_id text primary key,
      first_used_at timestamptz not null,
      lost_at timestamptz,
      -- Of the fingerprints of results, which shared memory holds.
      salt text not null default gen_random_uuid()::text
    );
    alter table run_labels enable row level security;
    alter table run_labels force row level security;
    alter table run_label_stores enable row level security;
    alter table run_label_stores force row level security;
  `.execute(db);
  for (const table of ['run_labels', 'run_label_stores'])
    await openTable(db, table, { writers: [EVALUATOR], readers: [] });
  // After a loss, run trees are read from here.
  await sql
    .raw(`
    grant select (tenant_id, run_id, parent_run_id) on runs to ${EVALUATOR};
    create policy runs_lineage on runs for select to ${EVALUATOR} using (true);
  `)
    .execute(db);
}
