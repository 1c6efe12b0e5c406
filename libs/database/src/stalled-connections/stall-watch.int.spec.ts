import { eventually, type FreshDatabase, freshDatabase, type TcpProxy, tcpProxy } from '@agentlens/testing';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import pg from 'pg';
import type { Database } from '../database.ts';
import { migrate } from '../migrate.ts';
import { openDatabase } from '../open-database.ts';
import { AnswerWatch } from './stall-watch.ts';

/**
 * A statement that times out fails with "Query read timeout"; the second text comes from the rollback of a transaction.
 */
const LOST = /^(Connection terminated|Client has encountered a connection error)/;

describe('half-open connection', () => {
  let fresh: FreshDatabase;
  let proxy: TcpProxy;
  let database: Database;

  beforeAll(async () => {
    fresh = await freshDatabase({ migrate });
  });
  afterAll(() => fresh.drop());
  beforeEach(async () => {
    proxy = await tcpProxy(fresh.url);
    database = openDatabase({ url: proxy.url, role: 'run-tracking', maxConnections: 3 });
  });
  afterEach(async () => {
    await database.close();
    await proxy.close();
  });

  /** Blocks traffic on existing connections; new connections work. */
  const freeze = () => {
    proxy.mode('half-open');
    proxy.mode('pass');
  };
  const select = (expression: string) => database.pool.query(`select ${expression} as found`);
  /** A busy machine may take longer to connect than a service waits, so that it tries again. */
  const connections = (count: number) =>
    eventually(async () => {
      await Promise.all(Array.from({ length: count }, () => select('pg_sleep(0.1)')));
      expect(database.pool.totalCount).toBe(count);
    });

  it('fails a statement on an idle connection soon, and later statements get working connections', async () => {
    await connections(3);
    freeze();

    await expect(select('1')).rejects.toThrow(LOST);
    expect((await Promise.all([select('1'), select('2'), select('3')])).map(({ rows }) => rows)).toEqual([
      [{ found: 1 }],
      [{ found: 2 }],
      [{ found: 3 }],
    ]);
  });

  it('fails a statement whose answer was lost after it had run', async () => {
    await connections(1);
    const answer = select('pg_sleep(1.8)');
    const failed = expect(answer).rejects.toThrow(LOST);
    freeze();
    await failed;
  });

  it('lets a slow statement run up to its timeout', async () => {
    expect((await select("pg_sleep(4)::text || 'done'")).rows).toEqual([{ found: 'done' }]);
  });

  it('releases the locks of a transaction', async () => {
    const lost = database.db.transaction().execute(async (transaction) => {
      await sql`select pg_advisory_xact_lock(1)`.execute(transaction);
      freeze();
      await sql`select 1`.execute(transaction);
    });
    await expect(lost).rejects.toThrow(LOST);

    const { rows } = await database.pool.query('select pg_try_advisory_xact_lock(1) as found');
    expect(rows).toEqual([{ found: true }]);
  });

  it('fails all statements if nothing answers, and recovers when the network is back', async () => {
    await connections(2);
    proxy.mode('blackhole');
    // The watch cannot ask either, so the statement timeout may come first.
    await expect(Promise.all([select('1'), select('2')])).rejects.toThrow(/Query read timeout|^Connection|^Client/);
    proxy.mode('pass');
    expect((await select('3')).rows).toEqual([{ found: 3 }]);
  });
});

describe('inconclusive inquiry', () => {
  const tooMany = Object.assign(new Error('sorry, too many clients already'), { code: '53300' });

  it.each([
    ['goes through a pooler', () => Promise.resolve({ backends: undefined })],
    ['is rejected because of too many connections', () => Promise.reject(tooMany)],
  ])('does not abort statements if it %s', async (_why, backends) => {
    const fresh = await freshDatabase();
    const pool = new pg.Pool({ connectionString: fresh.url });
    const watch = new AnswerWatch({ backends, end: () => Promise.resolve() });
    pool.on('connect', (client) => watch.watch(client));
    try {
      const { rows } = await pool.query("select pg_sleep(3.5)::text || 'done' as found");
      expect(rows).toEqual([{ found: 'done' }]);
    } finally {
      // The server may still close the connection of an ended pool when the database is dropped.
      pool.on('error', () => undefined);
      await pool.end();
      await fresh.drop();
    }
  });
});
