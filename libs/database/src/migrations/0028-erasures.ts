import { type Kysely, sql } from 'kysely';
import { openTable, RUN_TRACKING } from './open-table.ts';

/** Orders to remove what the runs of an actor say, and how far they are. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table erasures (
      tenant_id text not null,
      erasure_id text not null,
      -- Whose runs; null once nothing of theirs is left, so that the id is gone with the rest.
      actor_id text,
      -- SHA-256 of the actor's id, in hex: to know the erasure by.
      actor_digest text not null,
      state text not null check (state in ('running', 'finished')),
      requested_at timestamptz not null default now(),
      finished_at timestamptz,
      runs bigint not null default 0,
      events bigint not null default 0,
      author jsonb,
      primary key (tenant_id, erasure_id)
    );
    create index erasures_running on erasures (requested_at) where state = 'running';
    create unique index erasures_of_actor on erasures (tenant_id, actor_digest) where state = 'running';
    alter table erasures enable row level security;
    alter table erasures force row level security;
  `.execute(db);
  await openTable(db, 'erasures', { writers: [RUN_TRACKING], readers: [] });
}
