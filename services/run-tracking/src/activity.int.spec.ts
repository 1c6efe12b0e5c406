import { type Database, migrate, openDatabase } from '@agentlens/database';
import { createLogger } from '@agentlens/platform';
import { type FreshDatabase, fixedClock, freshDatabase } from '@agentlens/testing';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { ActivityRetention } from './activity.ts';

let fresh: FreshDatabase;
let database: Database;

beforeEach(async () => {
  fresh = await freshDatabase({ migrate });
  database = openDatabase({ url: fresh.url, role: 'run-tracking' });
});
afterEach(async () => {
  await database.close();
  await fresh.drop();
});

it('keeps minutes for three days and hours for 400', async () => {
  const row = (grain: 'minute' | 'hour', bucket: string) => ({ tenant_id: 'acme', agent_id: 'a', grain, bucket });
  await database.db
    .insertInto('activity')
    .values([
      row('minute', '2026-02-26T11:59:00Z'),
      row('minute', '2026-02-26T12:01:00Z'),
      row('hour', '2025-01-01T00:00:00Z'),
      row('hour', '2026-02-26T11:00:00Z'),
    ])
    .execute();
  const logger = createLogger({ name: 'run-tracking', level: 'silent' });
  const retention = new ActivityRetention({ clock: fixedClock('2026-03-01T12:00:00.000Z'), database, logger });
  await retention.dropOld();
  const left = await database.db.selectFrom('activity').select(['grain', 'bucket']).orderBy('bucket').execute();
  expect(left).toEqual([
    { grain: 'hour', bucket: '2026-02-26T11:00:00.000Z' },
    { grain: 'minute', bucket: '2026-02-26T12:01:00.000Z' },
  ]);
});
