import { type Kysely, sql } from 'kysely';

/** What was done to a call, and what rules in shadow would have done, in a column each: one held the more severe of both. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`alter table decisions add column would_have text`.execute(db);
  await sql`
    update decisions set would_have = effect, effect = 'allow'
    where verdict = 'ALLOW' and effect in ('ask', 'block', 'terminate')`.execute(db);
  await sql`drop index decisions_blocked`.execute(db);
  await sql`
    create index decisions_notable on decisions (tenant_id, decided_at desc)
    where effect <> 'allow' or would_have is not null`.execute(db);
}
