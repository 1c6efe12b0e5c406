import { type Kysely, sql } from 'kysely';
import { READER } from './open-table.ts';

/** Connections that can be disabled and keep their key, and the list of model calls without a scan of all events. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql
    .raw(`
    alter table provider_connections add column enabled boolean not null default true;
    grant select (enabled) on provider_connections to ${READER};
    create index events_of_model_gateway on events (tenant_id, occurred_at, event_id)
      where source_type = 'llm_response' and metadata->>'via' = 'gateway';
  `)
    .execute(db);
}
