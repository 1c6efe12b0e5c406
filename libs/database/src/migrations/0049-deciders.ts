import { type Kysely, sql } from 'kysely';
import { openTable, RUN_TRACKING } from './open-table.ts';

/** Who made each decision, and how many each made per hour. Null in decisions of earlier versions. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    alter table decisions add column decider jsonb;
    create table decision_paths (
      tenant_id text not null,
      hour timestamptz not null,
      -- gateway, evaluator, or unanswered: the gateway answered because the evaluator did not.
      path text not null,
      -- Why a gateway that decides calls itself asked the evaluator; otherwise empty.
      asked text not null,
      -- The rule that made it ask; otherwise empty.
      rule_id text not null,
      decisions bigint not null,
      primary key (tenant_id, hour, path, asked, rule_id)
    );
    create index decision_paths_by_hour on decision_paths using brin (hour);
    alter table decision_paths enable row level security;
    alter table decision_paths force row level security;
  `.execute(db);
  await openTable(db, 'decision_paths', { writers: [RUN_TRACKING], readers: [] });
}
