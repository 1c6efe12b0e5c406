import { type Kysely, sql } from 'kysely';
import { DISPATCHER } from './open-table.ts';

/** The dispatcher tells webhook endpoints of changes and of budgets that are nearly spent, and reads them for it. */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const table of ['audit_entries', 'budgets', 'budget_ledger']) {
    await sql
      .raw(`
      grant select on ${table} to ${DISPATCHER};
      create policy ${table}_dispatcher on ${table} for select to ${DISPATCHER} using (true);
    `)
      .execute(db);
  }
}
