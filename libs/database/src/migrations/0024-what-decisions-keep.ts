import { type Kysely, sql } from 'kysely';
import { openTable, RUN_TRACKING } from './open-table.ts';

/** Why a decision fell, the arguments it was about, and counts by rule and day. Decisions from before have neither. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    alter table decisions
      add column reason text,
      add column budget_id text,
      -- Redacted.
      add column arguments jsonb,
      add column arguments_cut jsonb;

    create table rule_daily (
      tenant_id text not null,
      rule_id text not null,
      -- UTC.
      day date not null,
      asked bigint not null,
      matched bigint not null,
      blocked bigint not null,
      asked_human bigint not null,
      would_have bigint not null,
      primary key (tenant_id, rule_id, day)
    );
    alter table rule_daily enable row level security;
    alter table rule_daily force row level security;
  `.execute(db);
  await openTable(db, 'rule_daily', { writers: [RUN_TRACKING], readers: [] });
}
