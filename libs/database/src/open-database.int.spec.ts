import { type FreshDatabase, freshDatabase, tcpProxy } from '@agentlens/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import pg from 'pg';
import { migrate } from './migrate.ts';
import { openDatabase } from './open-database.ts';

describe('openDatabase', () => {
  let fresh: FreshDatabase;

  beforeAll(async () => {
    fresh = await freshDatabase({ migrate });
  });
  afterAll(() => fresh.drop());

  it('returns times as ISO text, counts and amounts as numbers, and days as text, without changing other pools', async () => {
    const database = openDatabase({ url: fresh.url, role: 'query' });
    const { rows } = await sql`
      select timestamptz '2026-03-01 12:00:00.1239+02' as at, timestamptz '2026-03-01 12:00:00Z' as whole,
        timestamptz 'infinity' as never, bigint '42' as count, numeric(14,6) '0.123456' as cost, date '2026-03-01' as day
    `.execute(database.db);
    const plain = new pg.Client({ connectionString: fresh.url });
    await plain.connect();
    const others = await plain.query(`select bigint '42' as count`);
    await plain.end();
    await database.close();

    expect(rows).toEqual([
      {
        at: '2026-03-01T10:00:00.123Z',
        whole: '2026-03-01T12:00:00.000Z',
        never: 'infinity',
        count: 42,
        cost: 0.123456,
        day: '2026-03-01',
      },
    ]);
    expect(others.rows).toEqual([{ count: '42' }]);
  });

  it('uses the service role from the first statement on', async () => {
    const database = openDatabase({ url: fresh.url, role: 'action-dispatcher' });
    const { rows } = await sql`select current_user as name, current_setting('timezone') as zone`.execute(database.db);
    await database.close();

    expect(rows).toEqual([{ name: 'agentlens_action_dispatcher', zone: 'UTC' }]);
  });

  it('recovers if the network stops responding without closing the connection', async () => {
    const proxy = await tcpProxy(fresh.url);
    const database = openDatabase({ url: proxy.url, role: 'query', maxConnections: 1, queryTimeoutMs: 300 });
    try {
      await database.db.selectFrom('tenants').selectAll().execute();

      proxy.mode('half-open');
      await expect(database.db.selectFrom('tenants').selectAll().execute()).rejects.toThrow();
      proxy.mode('pass');

      expect(await database.db.selectFrom('tenants').selectAll().execute()).toEqual([]);
    } finally {
      await database.close();
      await proxy.close();
    }
  });
});
