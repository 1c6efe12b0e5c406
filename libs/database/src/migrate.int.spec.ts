import { freshDatabase } from '@agentlens/testing';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { migrate } from './migrate.ts';
import { openDatabase } from './open-database.ts';

describe('migrate', () => {
  let database: Awaited<ReturnType<typeof freshDatabase>>;

  beforeEach(async () => {
    database = await freshDatabase();
  });
  afterEach(() => database.drop());

  it('applies each migration once with four concurrent starts', async () => {
    const results = await Promise.all([1, 2, 3, 4].map(() => migrate(database.url)));

    const applied = results.flatMap((result) => result.applied);
    expect(applied).toContain('0001-init');
    expect(applied).toEqual([...new Set(applied)].sort());
    expect((await migrate(database.url)).applied).toEqual([]);
  });

  it('creates the roles while other databases of the server create them concurrently', async () => {
    const others = await Promise.all([1, 2, 3].map(() => freshDatabase()));
    try {
      const results = await Promise.all([database, ...others].map(({ url }) => migrate(url)));

      expect(results.every((result) => result.applied.includes('0002-roles-and-grants'))).toBe(true);
    } finally {
      await Promise.all(others.map((other) => other.drop()));
    }
  });

  it('leaves the schema of a later version alone, but only if it knows everything else', async () => {
    await migrate(database.url);
    const owner = new pg.Client({ connectionString: database.url });
    await owner.connect();
    try {
      await owner.query(`insert into kysely_migration (name, timestamp) values ('9999-later', 'now')`);
      expect((await migrate(database.url)).applied).toEqual([]);

      await owner.query(`delete from kysely_migration where name = '0002-roles-and-grants'`);
      await expect(migrate(database.url)).rejects.toThrow('could not be migrated');
    } finally {
      await owner.end();
    }
  });

  it('leaves a database that a service can use', async () => {
    await migrate(database.url);
    const opened = openDatabase({ url: database.url, role: 'query' });
    try {
      await opened.ping();
      expect(await opened.db.selectFrom('tenants').selectAll().execute()).toEqual([]);
    } finally {
      await opened.close();
    }
  });
});
