import { type FreshDatabase, freshDatabase, type TcpProxy, tcpProxy } from '@agentlens/testing';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import pg from 'pg';
import type { Database } from '../database.ts';
import { migrate } from '../migrate.ts';
import { openDatabase } from '../open-database.ts';
import { AnswerWatch } from './stall-watch.ts';

/** At its deadline a statement fails with "Query read timeout"; the second is what a transaction's rollback says. */
const LOST = /^(Connection terminated|Client has encountered a connection error)/;

describe('a connection that dies without a word', () => {
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

  /** Nothing more on what is connected; new connections pass. */
  const freeze = () => {
    proxy.mode('half-open');
    proxy.mode('pass');
  };
  const select = (expression: string) => database.pool.query(`select ${expression} as found`);
  const connections = async (count: number) => {
    await Promise.all(Array.from({ length: count }, () => select('pg_sleep(0.1)')));
    expect(database.pool.totalCount).toBe(count);
  };

  it('fails a statement on an idle connection soon, and those after it find none of the dead', async () => {
    await connections(3);
    freeze();

    await expect(select('1')).rejects.toThrow(LOST);
    expect((await Promise.all([select('1'), select('2'), select('3')])).map(({ rows }) => rows)).toEqual([
      [{ found: 1 }],
      [{ found: 2 }],
      [{ found: 3 }],
    ]);
  });

  it('fails a statement whose answer was lost after it had worked', async () => {
    await connections(1);
    const answer = select('pg_sleep(1.8)');
    const failed = expect(answer).rejects.toThrow(LOST);
    freeze();
    await failed;
  });

  it('lets a statement work for as long as it may', async () => {
    expect((await select("pg_sleep(4)::text || 'done'")).rows).toEqual([{ found: 'done' }]);
  });

  it('frees what a transaction had locked', async () => {
    const lost = database.db.transaction().execute(async (transaction) => {
      await sql`select pg_advisory_xact_lock(1)`.execute(transaction);
      freeze();
      await sql`select 1`.execute(transaction);
    });
    await expect(lost).rejects.toThrow(LOST);

    const { rows } = await database.pool.query('select pg_try_advisory_xact_lock(1) as found');
    expect(rows).toEqual([{ found: true }]);
  });

  it('fails everything when nothing answers any more, and goes on when the way is open again', async () => {
    await connections(2);
    proxy.mode('blackhole');
    // The watch cannot ask either, so the time a statement may take can end it first.
    await expect(Promise.all([select('1'), select('2')])).rejects.toThrow(/Query read timeout|^Connection|^Client/);
    proxy.mode('pass');
    expect((await select('3')).rows).toEqual([{ found: 3 }]);
  });
});

describe('an inquiry that tells nothing', () => {
  const tooMany = Object.assign(new Error('sorry, too many clients already'), { code: '53300' });

  it.each([
    ['stands behind a pooler', () => Promise.resolve({ backends: undefined })],
    ['is refused for too many connections', () => Promise.reject(tooMany)],
  ])('leaves statements alone where it %s', async (_why, backends) => {
    const fresh = await freshDatabase();
    const pool = new pg.Pool({ connectionString: fresh.url });
    const watch = new AnswerWatch({ backends, end: () => Promise.resolve() });
    pool.on('connect', (client) => watch.watch(client));
    try {
      const { rows } = await pool.query("select pg_sleep(3.5)::text || 'done' as found");
      expect(rows).toEqual([{ found: 'done' }]);
    } finally {
      await pool.end();
      await fresh.drop();
    }
  });
});
