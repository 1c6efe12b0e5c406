import { type Kysely, sql } from 'kysely';
import { DISPATCHER, openTable } from './open-table.ts';

/** Addresses that a tenant wants told of what happens; what they are told are deliveries like any other. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table webhook_endpoints (
      tenant_id text not null,
      webhook_id text not null,
      name text,
      url text not null,
      -- SHA-256 of the address, as in destinations.
      destination text not null,
      events text[] not null,
      format text not null check (format in ('standard', 'slack')),
      enabled boolean not null,
      -- Sealed.
      secret text not null,
      version integer not null,
      created_at timestamptz not null,
      updated_at timestamptz not null,
      primary key (tenant_id, webhook_id)
    );
    alter table webhook_endpoints enable row level security;
    alter table webhook_endpoints force row level security;

    alter table deliveries add column webhook_id text;
    create index deliveries_by_webhook on deliveries (tenant_id, webhook_id, created_at) where webhook_id is not null;
  `.execute(db);
  await openTable(db, 'webhook_endpoints', { writers: [DISPATCHER], readers: [] });
}
