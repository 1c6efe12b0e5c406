import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Pool } from 'pg';

interface KeyTools {
  readonly newApiKey: () => { readonly id: string; readonly key: string };
  readonly apiKeyHash: (key: string) => Buffer;
}

export interface SeededTenant {
  readonly id: string;
  readonly key: string;
}

/** Creates tenants with a key each, in the key format of the build under test. */
export async function seedTenants(pool: Pool, root: string, count: number): Promise<SeededTenant[]> {
  const module = pathToFileURL(join(root, 'libs/platform/dist/auth/api-key.js')).href;
  const { newApiKey, apiKeyHash } = (await import(module)) as KeyTools;
  const made = Array.from({ length: count }, (_, i) => ({ tenant: `bench-${i + 1}`, ...newApiKey() }));
  await pool.query(
    'insert into tenants (id, name, created_at) select t, t, now() from unnest($1::text[]) t on conflict do nothing',
    [made.map(({ tenant }) => tenant)],
  );
  await pool.query(
    `insert into api_keys (tenant_id, key_id, name, secret_hash, scopes, created_at)
     select t, k, 'bench', decode(h, 'hex'), '{ingest,read,admin}', now()
     from unnest($1::text[], $2::text[], $3::text[]) as made(t, k, h)`,
    [
      made.map(({ tenant }) => tenant),
      made.map(({ id }) => id),
      made.map(({ key }) => apiKeyHash(key).toString('hex')),
    ],
  );
  return made.map(({ tenant, key }) => ({ id: tenant, key }));
}

// Seeds that would take minutes over HTTP. The rows are copies of rules that were created over HTTP, so they are valid.

/** Deactivates all rules of all tenants. Returns the tenants that had any. */
export async function retireRules(pool: Pool): Promise<string[]> {
  const { rows } = await pool.query<{ tenant_id: string }>(
    `update guardrail_rules set deleted_at = now(), updated_at = now(), version = version + 1
     where deleted_at is null returning tenant_id`,
  );
  return [...new Set(rows.map((row) => row.tenant_id))];
}

/** Copies one rule for agents that send nothing. */
export async function copyRule(pool: Pool, ruleId: string, copies: number): Promise<void> {
  await pool.query(
    `insert into guardrail_rules
     select (jsonb_populate_record(r, jsonb_build_object('rule_id', r.rule_id || '-' || i, 'agent_id', 'absent-' || i))).*
     from guardrail_rules r, generate_series(1, $2::int) i where r.rule_id = $1`,
    [ruleId, copies],
  );
}

/** Copies all active rules of one tenant to others. */
export async function copyRulesTo(pool: Pool, from: string, tenants: readonly string[]): Promise<void> {
  await pool.query(
    `insert into guardrail_rules
     select (jsonb_populate_record(r, jsonb_build_object('rule_id', r.rule_id || '-' || t, 'tenant_id', t))).*
     from guardrail_rules r, unnest($2::text[]) t where r.tenant_id = $1 and r.deleted_at is null`,
    [from, tenants],
  );
}

let announcements = 0;

/** Makes the evaluator notify its replicas, as after a change over HTTP. */
export async function announceRules(pool: Pool, tenants: readonly string[]): Promise<void> {
  announcements += 1;
  await pool.query(
    `insert into outbox (writer, topic, body, created_at)
     select 'guardrail-evaluator', 'control.rules',
       jsonb_build_object('tenantId', t, 'version', 'bench:' || $2::text, 'at', to_char(now() at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')),
       now()
     from unnest($1::text[]) t`,
    [tenants, `${process.pid}:${announcements}`],
  );
}

export async function rulesInForce(pool: Pool): Promise<number> {
  const { rows } = await pool.query<{ count: number }>(
    'select count(*)::int as count from guardrail_rules where deleted_at is null and enabled',
  );
  return rows[0]?.count ?? 0;
}
