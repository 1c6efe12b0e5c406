import { type Kysely, sql } from 'kysely';
import { DISPATCHER } from './open-table.ts';

/**
 * Audit entries of decided alerts held a copy of the alert's texts, which quote the call, and the reviewer's words. An
 * erasure has to reach them, and nothing else of the log may ever change: a trigger turns every update into the removal
 * of these texts.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql
    .raw(`
    create function audit_entry_without_texts() returns trigger language plpgsql as $$
    begin
      old.reason := null;
      old.before := old.before - array['title', 'message', 'reason'];
      old.after := old.after - array['title', 'message', 'reason'];
      return old;
    end $$;
    create trigger audit_entries_erase before update on audit_entries
      for each row execute function audit_entry_without_texts();

    create index audit_entries_of_runs on audit_entries (tenant_id, (after->>'runId')) where target = 'alert';
    grant select (tenant_id, target, after, reason) on audit_entries to ${DISPATCHER};
    grant update (reason) on audit_entries to ${DISPATCHER};
    create policy audit_entries_erased on audit_entries for select to ${DISPATCHER} using (target = 'alert');
    create policy audit_entries_erase on audit_entries for update to ${DISPATCHER}
      using (target = 'alert') with check (target = 'alert');
  `)
    .execute(db);
}
