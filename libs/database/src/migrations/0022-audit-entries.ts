import { type Kysely, sql } from 'kysely';
import { DISPATCHER, EVALUATOR, QUERY, READER } from './open-table.ts';

/**
 * One row for each change that people or their programs made. The service that makes a change adds its row in the same
 * transaction; nobody can change a row or take one away.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql
    .raw(`
    create table audit_entries (
      tenant_id text not null,
      entry_id text not null,
      at timestamptz not null,
      kind text not null,
      target text not null,
      target_id text not null,
      key_id text,
      key_name text,
      person text,
      reason text,
      before jsonb,
      after jsonb,
      primary key (tenant_id, entry_id)
    );
    create index audit_entries_by_time on audit_entries (tenant_id, at desc, entry_id desc);
    create index audit_entries_by_target on audit_entries (tenant_id, target_id, at desc);

    alter table audit_entries enable row level security;
    alter table audit_entries force row level security;
    grant insert on audit_entries to ${EVALUATOR}, ${DISPATCHER}, ${QUERY};
    grant select on audit_entries to ${QUERY}, ${READER};
    create policy audit_entries_writers on audit_entries for insert to ${EVALUATOR}, ${DISPATCHER}, ${QUERY}
      with check (true);
    create policy audit_entries_services on audit_entries for select to ${QUERY} using (true);
    create policy audit_entries_tenant on audit_entries for select to ${READER}
      using (tenant_id = current_setting('agentlens.tenant', true));
  `)
    .execute(db);
}
