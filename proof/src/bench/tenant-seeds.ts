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
