import { type Kysely, sql } from 'kysely';

/** Whose run an order is for, so that only its agent's processes are told; and the orders of runs by age, to forget them. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    alter table control_orders add column agent_id text;
    create index control_orders_by_age on control_orders (issued_at);
    create index alerts_waiting on alerts (tenant_id, agent_id, run_id)
      where kind = 'approval' and status in ('pending', 'acknowledged');
  `.execute(db);
}
