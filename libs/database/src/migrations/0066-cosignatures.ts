import { type Kysely, sql } from 'kysely';
import { DISPATCHER, QUERY, READER } from './open-table.ts';

/** What a consistency proof is made of. */
const PROVEN = ['log_heads', 'log_checkpoints', 'log_leaves', 'log_tiles'];

/** Cosignatures of witnesses. The dispatcher asks for them, because it may reach the internet and the sealer may not. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql
    .raw(`
    create table log_cosignatures (
      tenant_id text not null,
      -- Name and key id.
      witness text not null,
      -- Of the checkpoint.
      size bigint not null,
      -- The signature line of the note, without its line feed.
      line text not null,
      at timestamptz not null,
      primary key (tenant_id, witness, size)
    );
    create index log_cosignatures_by_size on log_cosignatures (tenant_id, size);
    alter table log_cosignatures enable row level security;
    alter table log_cosignatures force row level security;
    grant select, insert on log_cosignatures to ${DISPATCHER};
    grant select on log_cosignatures to ${QUERY}, ${READER};
    create policy log_cosignatures_writer on log_cosignatures for all to ${DISPATCHER} using (true) with check (true);
    create policy log_cosignatures_services on log_cosignatures for select to ${QUERY} using (true);
    create policy log_cosignatures_tenant on log_cosignatures for select to ${READER}
      using (tenant_id = current_setting('agentlens.tenant', true));
  `)
    .execute(db);
  for (const table of PROVEN)
    await sql
      .raw(`
      grant select on ${table} to ${DISPATCHER};
      create policy ${table}_witnesses on ${table} for select to ${DISPATCHER} using (true);
    `)
      .execute(db);
}
