import { eventually, type FreshDatabase, freshDatabase } from '@agentlens/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type Insertable, sql } from 'kysely';
import { type Database, isMovedPartition } from './database.ts';
import { migrate } from './migrate.ts';
import { openDatabase } from './open-database.ts';
import { dropPartitions, ensurePartitions } from './partitions.ts';
import type { EventsTable } from './schema/tables.ts';

const at = (text: string): number => Date.parse(text);

const row = (id: string, occurredAt: string): Insertable<EventsTable> => ({
  tenant_id: 'acme',
  occurred_at: occurredAt,
  event_id: id,
  run_id: 'run',
  agent_id: 'agent',
  kind: 'custom.recorded',
  dialect: 'agentlens',
  source_type: 'custom',
  severity: 'info',
  is_error: false,
  tags: [],
  payload: '{}',
  metadata: '{}',
  hash: 'h',
  received_at: occurredAt,
});

describe('partitions', () => {
  let fresh: FreshDatabase;
  let database: Database;

  beforeAll(async () => {
    fresh = await freshDatabase({ migrate });
    database = openDatabase({ url: fresh.url, role: 'run-tracking' });
  });
  afterAll(async () => {
    await database.close();
    await fresh.drop();
  });

  const placeOf = async (id: string): Promise<string | undefined> => {
    const { rows } = await sql<{ place: string }>`
      select tableoid::regclass::text as place from events where event_id = ${id}`.execute(database.db);
    return rows[0]?.place;
  };

  it('are created once per day by concurrent callers', async () => {
    const calls = [1, 2, 3, 4].map(() =>
      ensurePartitions(database.db, 'events', at('2026-03-01T23:59:59Z'), at('2026-03-03T00:00:00Z')),
    );

    const made = await Promise.all(calls);

    expect(made.reduce((sum, n) => sum + n, 0)).toBe(3);
    await database.db.insertInto('events').values(row('last-ms', '2026-03-02T23:59:59.999Z')).execute();
    expect(await placeOf('last-ms')).toBe('events_20260302');
  });

  it('take over rows that were inserted before them', async () => {
    await database.db
      .insertInto('events')
      .values([row('early', '2026-05-01T10:00:00.000Z'), row('elsewhen', '2026-06-01T10:00:00.000Z')])
      .execute();
    expect(await placeOf('early')).toBe('events_other');

    await ensurePartitions(database.db, 'events', at('2026-05-01T00:00:00Z'), at('2026-05-01T00:00:00Z'));

    expect(await placeOf('early')).toBe('events_20260501');
    expect(await placeOf('elsewhen')).toBe('events_other');
  });

  it('that are attached while a row goes to the default partition are not reported as an error of the row', async () => {
    const late = row('late', '2031-07-01T10:00:00.000Z');
    const insert = () => database.db.insertInto('events').values(late).execute();
    const refused = await database.db.transaction().execute(async (tx) => {
      await ensurePartitions(tx, 'events', at('2031-07-01T00:00:00Z'), at('2031-07-01T00:00:00Z'));
      const inserting = insert().catch((error: unknown) => error);
      await eventually(async () => {
        const waiting = sql<{ n: number }>`select count(*)::int as n from pg_locks where not granted`;
        expect((await waiting.execute(tx)).rows[0]?.n).toBeGreaterThan(0);
      });
      return { inserting };
    });
    expect(isMovedPartition(await refused.inserting)).toBe(true);
    await insert();
    expect(await placeOf('late')).toBe('events_20310701');
  });

  it('of triggers are months', async () => {
    const dispatcher = openDatabase({ url: fresh.url, role: 'action-dispatcher', maxConnections: 1 });

    const made = await ensurePartitions(
      dispatcher.db,
      'guardrail_triggers',
      at('2026-11-30T12:00:00Z'),
      at('2027-01-01T00:00:00Z'),
    );

    await dispatcher.close();
    expect(made).toBe(3);
  });

  it('are dropped up to a time, and later ones stay', async () => {
    await database.db.insertInto('events').values(row('ancient', '2001-01-01T00:00:00.000Z')).execute();

    const dropped = await dropPartitions(database.db, 'events', at('2026-03-03T00:00:00Z'));

    const left = await database.db.selectFrom('events').select('event_id').orderBy('event_id').execute();
    expect(dropped).toBe(2);
    expect(left.map((event) => event.event_id)).toEqual(['early', 'elsewhen', 'late']);
  });
});
