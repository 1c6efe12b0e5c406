import { type FreshDatabase, freshDatabase } from '@agentlens/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import pg from 'pg';
import type { Database, DatabaseRole } from './database.ts';
import { migrate } from './migrate.ts';
import { openDatabase } from './open-database.ts';
import { ensurePartitions } from './partitions.ts';
import { DATABASE_ROLES } from './roles.ts';

const NOW = '2026-03-01T12:00:00.000Z';

const agent = (tenant: string) => ({
  tenant_id: tenant,
  agent_id: 'writer',
  first_seen_at: NOW,
  last_seen_at: NOW,
  run_count: 0,
  event_count: 1,
  error_count: 0,
  cost_usd: 0,
});

describe('row level security', () => {
  let fresh: FreshDatabase;
  let owner: pg.Client;
  const opened = new Map<DatabaseRole, Database>();
  const as = (role: DatabaseRole): Database => {
    const database = opened.get(role);
    if (database === undefined) throw new Error(role);
    return database;
  };

  beforeAll(async () => {
    fresh = await freshDatabase({ migrate });
    owner = new pg.Client({ connectionString: fresh.url });
    await owner.connect();
    for (const role of DATABASE_ROLES) opened.set(role, openDatabase({ url: fresh.url, role, maxConnections: 2 }));
    await ensurePartitions(as('run-tracking').db, 'events', Date.parse(NOW), Date.parse(NOW));
    await as('run-tracking')
      .db.insertInto('agents')
      .values([agent('acme'), agent('globex')])
      .execute();
  });

  afterAll(async () => {
    await owner.end();
    await Promise.all([...opened.values()].map((database) => database.close()));
    await fresh.drop();
  });

  it('is forced on every table with a tenant, each with a policy or, for a partition, without any grant', async () => {
    const { rows } = await owner.query(`
      select c.relname from pg_class c join pg_namespace n on n.oid = c.relnamespace and n.nspname = 'public'
      join pg_attribute a on a.attrelid = c.oid and a.attname = 'tenant_id'
      where c.relkind in ('r', 'p') and not (c.relrowsecurity and c.relforcerowsecurity
        and case when c.relispartition
          then not exists (select from information_schema.role_table_grants g
            where g.table_name = c.relname and g.grantee like 'agentlens\\_%')
          else exists (select from pg_policy p where p.polrelid = c.oid) end)`);

    expect(rows).toEqual([]);
  });

  it('applies to every role: none owns tables, logs in by default or bypasses policies', async () => {
    const { rows } = await owner.query(
      `select rolname from pg_roles where rolname like 'agentlens\\_%' and (rolsuper or rolbypassrls or rolcanlogin)`,
    );

    expect(rows).toEqual([]);
  });

  it('shows a tenant only its own rows, even if a statement has no filter', async () => {
    const seen = await as('query').asTenant('acme', (db) => db.selectFrom('agents').select('tenant_id').execute());

    expect(seen).toEqual([{ tenant_id: 'acme' }]);
  });

  it('reads in three messages: begin with the tenant, query, commit', async () => {
    const database = openDatabase({ url: fresh.url, role: 'query', maxConnections: 1 });
    const messages: unknown[] = [];
    database.pool.on('connect', (client) => {
      const query = client.query.bind(client) as (...args: unknown[]) => unknown;
      const heard = (...args: unknown[]) => {
        messages.push(args[0]);
        return query(...args);
      };
      client.query = heard as typeof client.query;
    });
    try {
      await database.asTenant('acme', (db) => db.selectFrom('agents').select('tenant_id').execute());
    } finally {
      await database.close();
    }

    expect(messages).toEqual([expect.stringMatching(/^begin/), expect.stringMatching(/^select/), 'commit']);
  });

  it.each(["acme' or 'acme' = 'acme", "'); reset role; select ('", 'acme\\', '"acme"', ''])(
    'treats %j as a tenant name, not as SQL',
    async (tenantId) => {
      const seen = await as('query').asTenant(tenantId, (db) => db.selectFrom('agents').selectAll().execute());

      expect(seen).toEqual([]);
    },
  );

  it('leaves a usable connection after a failed read', async () => {
    const database = openDatabase({ url: fresh.url, role: 'query', maxConnections: 1 });
    try {
      await expect(database.asTenant('acme', (db) => sql`select 1 / 0`.execute(db))).rejects.toMatchObject({
        code: '22012',
      });

      const seen = await database.asTenant('globex', (db) => db.selectFrom('agents').select('tenant_id').execute());
      expect(seen).toEqual([{ tenant_id: 'globex' }]);
      const { rows } = await sql<{ name: string }>`select current_user as name`.execute(database.db);
      expect(rows).toEqual([{ name: 'agentlens_query' }]);
    } finally {
      await database.close();
    }
  });

  it('shows nothing without a tenant, even on a connection that had one before', async () => {
    const count = await as('query')
      .db.transaction()
      .execute(async (db) => {
        await sql`select set_config('role', 'agentlens_reader', true)`.execute(db);
        return db.selectFrom('agents').selectAll().execute();
      });

    expect(count).toEqual([]);
  });

  it('returns the connection to the service role', async () => {
    await as('query').asTenant('acme', (db) => db.selectFrom('agents').selectAll().execute());

    const { rows } = await sql<{ name: string }>`select current_user as name`.execute(as('query').db);
    expect(rows).toEqual([{ name: 'agentlens_query' }]);
  });

  it('lets a tenant write nothing', async () => {
    const attempt = as('query').asTenant('acme', (db) => db.insertInto('agents').values(agent('acme')).execute());

    await expect(attempt).rejects.toMatchObject({ code: '42501' });
  });

  it('would reject a row of another tenant even with a grant to write', async () => {
    await owner.query('begin');
    await owner.query('grant insert on agents to agentlens_reader');
    await owner.query(
      `select set_config('role', 'agentlens_reader', true), set_config('agentlens.tenant', 'acme', true)`,
    );

    await expect(
      owner.query(`insert into agents values ('globex', 'forged', null, null, now(), now())`),
    ).rejects.toMatchObject({ message: expect.stringContaining('row-level security') });
    await owner.query('rollback');
  });

  it('protects partitions, which do not inherit the policies of their parent', async () => {
    for (const role of DATABASE_ROLES) {
      await expect(as(role).pool.query('select * from events_20260301')).rejects.toMatchObject({ code: '42501' });
    }
  });

  it('allows each table one writing service', async () => {
    const writers = await owner.query<{ table: string; roles: string[] }>(`
      select c.relname as table, array_agg(r.rolname order by r.rolname)::text[] as roles
      from pg_class c join pg_namespace n on n.oid = c.relnamespace and n.nspname = 'public'
      cross join pg_roles r
      where c.relkind in ('r', 'p') and not c.relispartition and r.rolname like 'agentlens\\_%'
        and (has_table_privilege(r.oid, c.oid, 'insert') or has_table_privilege(r.oid, c.oid, 'update')
          or has_table_privilege(r.oid, c.oid, 'delete') or has_table_privilege(r.oid, c.oid, 'truncate'))
      group by 1`);

    const shared = writers.rows.filter((row) => row.roles.length !== 1).map((row) => row.table);
    expect(shared.toSorted((a, b) => a.localeCompare(b))).toEqual(['audit_entries', 'log_pending', 'outbox']);
  });

  it('makes audit entries immutable, and lets only the right roles add them', async () => {
    for (const role of DATABASE_ROLES) {
      for (const statement of ["update audit_entries set person = 'x'", 'delete from audit_entries']) {
        await expect(as(role).pool.query(statement)).rejects.toMatchObject({ code: '42501' });
      }
    }
    const add =
      "insert into audit_entries (tenant_id, entry_id, at, kind, target, target_id) values ('a', 'b', now(), 'c', 'd', 'e')";
    await expect(as('ingest').pool.query(add)).rejects.toMatchObject({ code: '42501' });
  });

  it('rejects a service that writes a table of another', async () => {
    for (const role of DATABASE_ROLES.filter((name) => name !== 'run-tracking')) {
      await expect(as(role).db.updateTable('agents').set({ name: 'x' }).execute()).rejects.toMatchObject({
        code: '42501',
      });
    }
    await expect(as('run-tracking').db.deleteFrom('guardrail_rules').execute()).rejects.toMatchObject({
      code: '42501',
    });
  });
});
