import { type Kysely, sql } from 'kysely';
import { RUN_TRACKING } from './open-table.ts';

/** A run that an operator killed has that for its status, whatever else is said of its end. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    alter table runs add column killed_at timestamptz;
    alter table runs drop constraint runs_status_check;
    -- No row breaks it: the one before was narrower.
    alter table runs add constraint runs_status_check check (status in
      ('running', 'succeeded', 'failed', 'timed_out', 'cancelled', 'interrupted', 'lost', 'killed')) not valid;
    create index control_orders_killed on control_orders (tenant_id) where state = 'killed';
  `.execute(db);
  await sql
    .raw(`
    grant select on control_orders to ${RUN_TRACKING};
    create policy control_orders_run_tracking on control_orders for select to ${RUN_TRACKING} using (true);
  `)
    .execute(db);
}
