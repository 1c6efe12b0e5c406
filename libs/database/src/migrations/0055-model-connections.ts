import { type Kysely, sql } from 'kysely';
import { createRole } from './0002-roles-and-grants.ts';
import { MODEL_GATEWAY, openTable, QUERY, READER } from './open-table.ts';

/** What the model gateway reads across tenants to check keys, orders and prices. */
const READS: Readonly<Record<string, string>> = {
  api_keys: '',
  tenants: '',
  browser_sessions: '',
  price_overrides: '',
  control_orders: '',
  agent_directives: '',
  guardrail_rules: '(tenant_id, on_unavailable, enabled, mode, dry_run, deleted_at, suspended)',
  budgets: '(tenant_id, on_unavailable, enabled, deleted_at)',
};

/** Everything but the credential. */
const SHOWN =
  '(tenant_id, name, dialect, base_url, fingerprint, credential_set_at, models, forward_headers, pricing_provider, ' +
  'version, created_at, updated_at)';

/** Connections to model providers with their sealed keys, and the service that opens them. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await createRole(db, MODEL_GATEWAY);
  await sql`
    create table provider_connections (
      tenant_id text not null,
      name text not null,
      dialect text not null,
      base_url text not null,
      -- Null if the provider takes no key.
      sealed_credential text,
      fingerprint text,
      credential_set_at timestamptz,
      -- Globs of models that may be called; null for all.
      models text[],
      forward_headers text[] not null default '{}',
      pricing_provider text,
      version integer not null,
      created_at timestamptz not null,
      updated_at timestamptz not null,
      primary key (tenant_id, name)
    );
    alter table provider_connections enable row level security;
    alter table provider_connections force row level security;
  `.execute(db);
  await openTable(db, 'provider_connections', { writers: [QUERY], readers: [MODEL_GATEWAY] });
  await sql
    .raw(`
    revoke select on provider_connections from ${READER};
    grant select ${SHOWN} on provider_connections to ${READER};
    grant select on price_tables to ${MODEL_GATEWAY};
  `)
    .execute(db);
  for (const [table, columns] of Object.entries(READS)) {
    await sql
      .raw(`
      grant select ${columns} on ${table} to ${MODEL_GATEWAY};
      create policy ${table}_model_gateway on ${table} for select to ${MODEL_GATEWAY} using (true);
    `)
      .execute(db);
  }
}
