import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import pg from 'pg';
import type { DatabaseRole } from './database.ts';
import { type EmbeddedPostgres, startEmbeddedPostgres } from './embedded/start-embedded-postgres.ts';
import { migrate } from './migrate.ts';
import { openDatabase } from './open-database.ts';
import { DATABASE_ROLES, grantLogins, READER_ROLE, roleName } from './roles.ts';

/** A server of its own, because roles are server-wide and this one requires passwords. */
describe('database logins of the services', () => {
  let folder: string;
  let server: EmbeddedPostgres;
  let owner: pg.Client;
  const passwords = Object.fromEntries(
    DATABASE_ROLES.map((role) => [role, `it's "${role}" \\ $1 of its own`]),
  ) as Record<DatabaseRole, string>;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'agentlens-logins-'));
    server = await startEmbeddedPostgres({ dataDir: folder });
    await migrate(server.url);
    // Concurrently, like several starting processes.
    await Promise.all([grantLogins(server.url, passwords), grantLogins(server.url, passwords)]);
    owner = new pg.Client({ connectionString: server.url });
    await owner.connect();
  });
  afterAll(async () => {
    await owner?.end();
    await server?.stop();
    await rm(folder, { recursive: true, force: true });
  });

  function addressOf(role: DatabaseRole, password = passwords[role]): string {
    const address = new URL(server.url);
    address.username = roleName(role);
    address.password = encodeURIComponent(password);
    return address.href;
  }

  async function asService<T>(role: DatabaseRole, work: (client: pg.Client) => Promise<T>): Promise<T> {
    const client = new pg.Client({ connectionString: addressOf(role) });
    await client.connect();
    try {
      return await work(client);
    } finally {
      await client.end();
    }
  }

  it.each(DATABASE_ROLES)('let %s work as itself from the login on', async (role) => {
    const database = openDatabase({ url: addressOf(role), role });
    const { rows } = await sql`select session_user as login, current_user as role,
      (select rolsuper or rolcreaterole or rolcreatedb or rolbypassrls from pg_roles where rolname = session_user) as mighty`.execute(
      database.db,
    );
    await database.close();
    expect(rows).toEqual([{ login: roleName(role), role: roleName(role), mighty: false }]);
  });

  it.each(DATABASE_ROLES)('do not let %s assume another role', async (role) => {
    const others = [...DATABASE_ROLES.map(roleName), READER_ROLE, new URL(server.url).username].filter(
      (name) => name !== roleName(role),
    );
    const became = await asService(role, async (client) => {
      const able: string[] = [];
      for (const other of others) {
        const set = client.query(`set role ${pg.escapeIdentifier(other)}`);
        await set.then(
          () => able.push(other),
          (error: Error) => expect(error.message).toMatch(/permission denied to set role/),
        );
      }
      return able;
    });
    expect(became).toEqual(role === 'query' ? [READER_ROLE] : []);
  });

  it('keep one writer for each table', async () => {
    const write = (client: pg.Client) => client.query('delete from api_keys');
    await expect(asService('ingest', write)).rejects.toThrow(/permission denied for table api_keys/);
    await expect(asService('query', write)).resolves.toMatchObject({ rowCount: 0 });
  });

  it('let query read as one tenant', async () => {
    await owner.query(`set role agentlens_query`);
    await owner.query(`insert into tenants values ('acme', 'Acme', now()), ('globex', 'Globex', now())`);
    await owner.query('reset role');
    const database = openDatabase({ url: addressOf('query'), role: 'query' });
    const seen = await database.asTenant('acme', (db) => db.selectFrom('tenants').select('id').execute());
    await database.close();
    expect(seen).toEqual([{ id: 'acme' }]);
  });

  it('require the current password after a change', async () => {
    await expect(openDatabase({ url: addressOf('ingest', 'guess'), role: 'ingest' }).ping()).rejects.toThrow(
      /password authentication failed/,
    );
    await grantLogins(server.url, { ingest: 'another password' });
    await expect(openDatabase({ url: addressOf('ingest'), role: 'ingest' }).ping()).rejects.toThrow(
      /password authentication failed/,
    );
    const database = openDatabase({ url: addressOf('ingest', 'another password'), role: 'ingest' });
    await expect(database.ping()).resolves.toBeUndefined();
    await database.close();
    await grantLogins(server.url, { ingest: passwords.ingest });
  });

  it('are refused for roles with more privileges, and the error names the command that fixes it', async () => {
    await owner.query('alter role agentlens_ingest createdb');
    await owner.query('grant agentlens_query to agentlens_ingest');
    const granting = grantLogins(server.url, { ingest: 'never set' });
    await expect(granting).rejects.toThrow(/alter role agentlens_ingest nosuperuser/);
    await expect(granting).rejects.toThrow(/revoke agentlens_query from agentlens_ingest/);
    await owner.query('alter role agentlens_ingest nocreatedb');
    await owner.query('revoke agentlens_query from agentlens_ingest');
    await expect(asService('ingest', (client) => client.query('select 1'))).resolves.toMatchObject({ rowCount: 1 });
  });
});
