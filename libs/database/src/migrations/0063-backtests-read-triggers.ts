import { type Kysely, sql } from 'kysely';
import { BACKTESTER } from './open-table.ts';

/** A backtest of a stored rule says what the rule really did meanwhile. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql
    .raw(`
    grant select on guardrail_triggers to ${BACKTESTER};
    create policy guardrail_triggers_backtests on guardrail_triggers for select to ${BACKTESTER} using (true);
  `)
    .execute(db);
}
