import { type Kysely, sql } from 'kysely';

const MONEY: Readonly<Record<string, readonly string[]>> = {
  agents: ['cost_usd'],
  runs: ['cost_usd'],
  events: ['cost_usd'],
  agent_daily: ['cost_usd', 'run_cost_usd'],
  budgets: ['limit_usd'],
  budget_ledger: ['estimate_usd', 'cost_usd'],
};

/**
 * `numeric(14,6)` stored the price of a few tokens as 0. Without a scale nothing is rounded here: the writers keep
 * 12 places. Postgres widens the type without rewriting rows.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const [table, columns] of Object.entries(MONEY)) {
    for (const column of columns) {
      await sql`alter table ${sql.table(table)} alter column ${sql.ref(column)} type numeric`.execute(db);
    }
  }
}
