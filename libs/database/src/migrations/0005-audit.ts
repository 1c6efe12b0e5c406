import { type Kysely, sql } from 'kysely';
import { openTable, RUN_TRACKING } from './open-table.ts';

/** Where the auditor keeps what it read of the stream and what it found (ADR 12). */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    -- Rows lie in order of arrival: a few pages say where those of one minute are, and inserting costs next to nothing.
    create index events_by_arrival on events using brin (received_at) with (autosummarize = on);

    create table audit_minutes (
      tenant_id text not null,
      minute timestamptz not null,
      accepted bigint not null,
      first_sequence bigint not null,
      last_sequence bigint not null,
      seen_at timestamptz not null,
      state text not null default 'open' check (state in ('open', 'equal', 'differs')),
      stored bigint,
      evaluated bigint,
      not_stored bigint not null default 0,
      not_evaluated bigint not null default 0,
      judged_at timestamptz,
      primary key (tenant_id, minute)
    );
    create index audit_minutes_unsettled on audit_minutes (minute) where state <> 'equal';
    create index audit_minutes_by_age on audit_minutes (seen_at);

    -- One row: the last message of the stream that is in audit_minutes.
    create table audit_position (
      id boolean primary key default true check (id),
      sequence bigint not null,
      read_at timestamptz not null
    );
    grant select, insert, update, delete on audit_position to ${sql.raw(RUN_TRACKING)};

    alter table audit_minutes enable row level security;
    alter table audit_minutes force row level security;
  `.execute(db);
  await openTable(db, 'audit_minutes', { writers: [RUN_TRACKING], readers: [] });
}
