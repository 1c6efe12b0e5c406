import { setImmediate as turn } from 'node:timers/promises';
import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { type FreshDatabase, freshDatabase, tcpProxy } from '@agentlens/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import { migrate } from '../migrate.ts';
import { openDatabase } from '../open-database.ts';

describe('query timeout', () => {
  let fresh: FreshDatabase;

  beforeAll(async () => {
    fresh = await freshDatabase({ migrate });
  });
  afterAll(() => fresh.drop());

  it('does not keep answers alive into the old generation', async () => {
    const database = openDatabase({ url: fresh.url, role: 'query', maxConnections: 1 });
    const ask = async () => void (await rows(1_000).execute(database.db));
    try {
      await promotedBy(ask);
      // Ten answers take about 7 MB.
      expect(await promotedBy(ask)).toBeLessThan(1_500_000);
    } finally {
      await database.close();
    }
  });

  it('reports a missing answer once', async () => {
    const proxy = await tcpProxy(fresh.url);
    const database = openDatabase({ url: proxy.url, role: 'query', maxConnections: 1, queryTimeoutMs: 300 });
    try {
      const client = await database.pool.connect();
      const reported: (Error | null)[] = [];
      const ended = new Promise((resolve) => client.once('end', resolve));
      proxy.mode('half-open');
      client.query('select 1', (error: Error | null) => reported.push(error));
      await ended;
      client.release();
      expect(reported.map((error) => error?.message)).toEqual(['Query read timeout']);
    } finally {
      await proxy.close();
      await database.close();
    }
  });
});

const rows = (count: number) =>
  sql`select n, 'row ' || n as name, repeat('x', 400) as text, now() as at from generate_series(1, ${count}::int) n`;

/** Bytes left in the old generation after running the work ten times, with two minor collections each. */
async function promotedBy(work: () => Promise<void>): Promise<number> {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as (options?: { type: 'minor' }) => void;
  collect();
  const before = oldGeneration();
  for (let round = 0; round < 10; round += 1) {
    await work();
    await turn();
    collect({ type: 'minor' });
    collect({ type: 'minor' });
  }
  return oldGeneration() - before;
}

const oldGeneration = () =>
  getHeapSpaceStatistics()
    .filter(({ space_name }) => /^(old|large_object)_space$/.test(space_name))
    .reduce((bytes, space) => bytes + space.space_used_size, 0);
