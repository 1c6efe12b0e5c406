import { randomBytes } from 'node:crypto';
import { type FreshDatabase, freshDatabase, tcpProxy } from '@agentlens/testing';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Kysely, PostgresDialect, sql } from 'kysely';
import pg from 'pg';
import { migrate } from './migrate.ts';
import { up } from './migrations/0015-what-error-rates-count.ts';
import { openDatabase } from './open-database.ts';
import { dropPartitions, ensurePartitions } from './partitions.ts';

/** As on managed Postgres: the login owns its database and may create roles, but nothing else. */
describe('database owned by an ordinary login', () => {
  const name = `owner_${randomBytes(4).toString('hex')}`;
  let server: FreshDatabase;
  let admin: pg.Client;
  let url: string;

  beforeEach(async () => {
    server = await freshDatabase();
    admin = new pg.Client({ connectionString: server.url });
    await admin.connect();
    await admin.query(`create role ${name} login createrole password 'secret' nosuperuser`);
    await admin.query(`create database ${name} owner ${name}`);
    const address = new URL(server.url);
    address.username = name;
    address.password = 'secret';
    address.pathname = `/${name}`;
    url = address.href;
    // As for a second installation on the server: the roles exist and have another owner.
    await migrate(server.url);
    const { rows } = await admin.query<{ version: number }>(
      `select current_setting('server_version_num')::int as version`,
    );
    const roles = await admin.query<{ rolname: string }>(
      `select rolname from pg_roles where rolname like 'agentlens\\_%'`,
    );
    const option = (rows[0]?.version ?? 0) >= 160_000 ? 'with set true' : '';
    for (const { rolname } of roles.rows) await admin.query(`grant ${rolname} to ${name} ${option}`);
  });

  afterEach(async () => {
    await admin.query(`drop database if exists ${name} with (force)`);
    await admin.query(`drop role if exists ${name}`);
    await admin.end();
    await server.drop();
  });

  it('can be migrated, partitioned and read by tenant', async () => {
    await migrate(url);
    const writer = openDatabase({ url, role: 'run-tracking' });
    const reader = openDatabase({ url, role: 'query' });
    try {
      await sql`insert into events values ('acme', '2026-05-01T10:00:00Z', 'e', 'r', 'a', null, 'custom.recorded', 'agentlens',
        'custom', 'info', false, null, null, null, null, null, null, null, null, null, null, '{}', '{}', '{}', 'h', now())`.execute(
        writer.db,
      );
      const at = Date.parse('2026-05-01T00:00:00Z');

      expect(await ensurePartitions(writer.db, 'events', at, at)).toBe(1);
      const { rows } = await sql`select tableoid::regclass::text as place from events`.execute(writer.db);
      expect(rows).toEqual([{ place: 'events_20260501' }]);
      const seen = await reader.asTenant('acme', (db) => db.selectFrom('events').select('event_id').execute());
      expect(seen).toEqual([{ event_id: 'e' }]);
      expect(await reader.asTenant('globex', (db) => db.selectFrom('events').select('event_id').execute())).toEqual([]);
      expect(await dropPartitions(writer.db, 'events', at + 86_400_000)).toBe(1);
    } finally {
      await writer.close();
      await reader.close();
    }
  });

  it('gets its stored rules migrated, for every tenant', async () => {
    await migrate(url);
    const owner = new pg.Pool({ connectionString: url, max: 1 });
    // The database is dropped while connections are still closing.
    owner.on('error', () => undefined);
    const ownerDb = new Kysely<unknown>({ dialect: new PostgresDialect({ pool: owner }) });
    const writer = openDatabase({ url, role: 'guardrail-evaluator' });
    const old = { threshold: 20, windowMinutes: 5 };
    const nested = { conditions: [{ type: 'not', config: { condition: { type: 'error_rate_threshold' } } }] };
    const rules = [
      ['acme', 'error_rate_threshold', old],
      ['globex', 'error_rate_threshold', { ...old, minEvents: 7 }],
      ['globex', 'error_rate_threshold', { ...old, of: 'tools', minEvents: 5 }],
      ['globex', 'all', nested],
      ['globex', 'tool_name', { pattern: 'error_rate_threshold' }],
    ] as const;
    try {
      for (const [at, [tenant, type, config]] of rules.entries()) {
        await sql`insert into guardrail_rules (tenant_id, rule_id, version, name, enabled, condition_type,
            condition_config, action_type, action_config, cooldown_minutes, dry_run, direction, priority, created_at, updated_at)
          values (${tenant}, ${`rule-${at}`}, 1, 'r', true, ${type}, ${JSON.stringify(config)}, 'pause_agent', '{}', 15,
            false, 'both', 0, now(), now())`.execute(writer.db);
      }
      await owner.query(`alter table guardrail_triggers drop column comparison`);

      await ownerDb.transaction().execute(up);
      const { rows } = await sql<{ condition_config: unknown }>`
        select condition_config from guardrail_rules order by rule_id`.execute(writer.db);
      const inner = { type: 'error_rate_threshold', config: { of: 'events', minEvents: 1 } };
      expect(rows.map((row) => row.condition_config)).toEqual([
        { ...old, of: 'events', minEvents: 1 },
        { ...old, of: 'events', minEvents: 7 },
        { ...old, of: 'tools', minEvents: 5 },
        { conditions: [{ type: 'not', config: { condition: inner } }] },
        { pattern: 'error_rate_threshold' },
      ]);
      const forced = await owner.query(`select relforcerowsecurity from pg_class where relname = 'guardrail_rules'`);
      expect(forced.rows).toEqual([{ relforcerowsecurity: true }]);
    } finally {
      await writer.close();
      await ownerDb.destroy();
    }
  });

  it('distinguishes a lost answer from a slow one', async () => {
    await migrate(url);
    const proxy = await tcpProxy(url);
    const database = openDatabase({ url: proxy.url, role: 'query' });
    try {
      await database.ping();
      proxy.mode('half-open');
      proxy.mode('pass');
      await expect(database.ping()).rejects.toThrow(/^Connection terminated/);
    } finally {
      await database.close();
      await proxy.close();
    }
  });
});
