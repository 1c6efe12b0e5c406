import { type Kysely, sql } from 'kysely';

/**
 * The decision that ended a run, so that a run that a rule ended does not count as succeeded, and the tags that the
 * agent sent with a call, which a backtest needs to judge it. Decisions from before have none.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    alter table runs add column ended_by text;
    alter table decisions add column tool_tags text[];
    create index decisions_ending on decisions (decided_at) where verdict = 'BLOCK' and effect = 'terminate';
  `.execute(db);
}
