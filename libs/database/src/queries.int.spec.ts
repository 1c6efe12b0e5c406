import { type FreshDatabase, freshDatabase, tcpProxy } from '@agentlens/testing';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import type { Database } from './database.ts';
import { migrate } from './migrate.ts';
import { openDatabase } from './open-database.ts';
import { rowGroups } from './queries.ts';

describe('rowGroups', () => {
  let fresh: FreshDatabase;
  let database: Database;

  beforeAll(async () => {
    fresh = await freshDatabase({ migrate });
  });
  afterAll(() => fresh.drop());
  afterEach(() => database.close());

  /** A single connection, so that the next query uses the one the groups came over. */
  const open = (options: { url?: string; queryTimeoutMs?: number } = {}) => {
    database = openDatabase({ url: fresh.url, role: 'query', maxConnections: 1, ...options });
  };
  const expectUsable = async () => {
    expect(await database.db.selectFrom('tenants').selectAll().execute()).toEqual([]);
  };
  const numbersTo = (last: number, expression = 'n') => ({
    compile: () =>
      sql<{ n: number }>`select ${sql.raw(expression)} as n from generate_series(1, ${last}::int) n`.compile(
        database.db,
      ),
  });

  it('returns all rows and leaves no timer behind', async () => {
    open();
    const timers = () => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;
    await database.ping();
    const before = timers();

    const groups: (readonly { n: number }[])[] = [];
    for await (const group of rowGroups(database.db, numbersTo(250), { size: 100 })) groups.push(group);
    expect(groups.map(({ length }) => length)).toEqual([100, 100, 50]);
    expect(groups.flat()).toEqual(Array.from({ length: 250 }, (_, i) => ({ n: i + 1 })));
    expect(timers()).toBe(before);
  });

  it('uses one group and no cursor if all rows fit', async () => {
    open();
    const opened = sql<{ statement: string }>`select statement from pg_cursors`;
    const groups = rowGroups(database.db, { compile: () => opened.compile(database.db) }, { size: 10, atMost: 10 });
    expect((await groups.next()).value).toEqual([]);
    expect((await groups.next()).done).toBe(true);
    await expectUsable();
  });

  it('leaves a usable connection if not all groups are read', async () => {
    open();
    for await (const [first] of rowGroups(database.db, numbersTo(1_000), { size: 10 })) {
      expect(first).toEqual({ n: 1 });
      break;
    }
    await expectUsable();
  });

  it('leaves a usable connection if a later group fails', async () => {
    open();
    const groups = rowGroups(database.db, numbersTo(20, '1 / (15 - n)'), { size: 10 });
    expect((await groups.next()).value).toHaveLength(10);
    await expect(groups.next()).rejects.toMatchObject({ code: '22012', message: 'division by zero' });

    await expectUsable();
  });

  it('recovers if the network stops responding between two groups', async () => {
    const proxy = await tcpProxy(fresh.url);
    try {
      open({ url: proxy.url, queryTimeoutMs: 300 });
      const groups = rowGroups(database.db, numbersTo(1_000), { size: 1 });
      await groups.next();

      proxy.mode('half-open');
      await expect(groups.next()).rejects.toThrow('Query read timeout');
      proxy.mode('pass');

      await expectUsable();
    } finally {
      await proxy.close();
    }
  });
});
