import { type Database, migrate, openDatabase } from '@agentlens/database';
import { ACK } from '@agentlens/messaging';
import { aBatch, anEvent, type FreshDatabase, freshDatabase, tcpProxy } from '@agentlens/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { EventRecorder } from './event-recorder.ts';
import { EventStore, type RecordedEvents } from './event-store.ts';
import { messageOf } from './message.testing.ts';

const PLACE = '"__HERE__"';
let tenants = 0;

describe('event recorder', () => {
  let fresh: FreshDatabase;
  let database: Database;
  const seen = { recorded: [] as RecordedEvents[], poison: [] as string[], away: 0 };

  const recorderOn = ({ pool }: Database) =>
    new EventRecorder({
      store: new EventStore(pool),
      prepareDays: async () => {},
      onRecorded: (recorded) => seen.recorded.push(recorded),
      onPoison: (reason) => seen.poison.push(reason),
      onAway: () => {
        seen.away += 1;
      },
    });

  beforeAll(async () => {
    fresh = await freshDatabase({ migrate });
    database = openDatabase({ url: fresh.url, role: 'run-tracking' });
  });
  afterAll(async () => {
    await database.close();
    await fresh.drop();
  });

  const newTenant = () => `tenant-${++tenants}`;
  const storedIds = async (tenantId: string) => {
    const rows = await database.db
      .selectFrom('events')
      .select('event_id')
      .where('tenant_id', '=', tenantId)
      .orderBy('event_id')
      .execute();
    return rows.map((row) => row.event_id);
  };
  /** Nine valid events and, in the middle, one whose payload contains this raw JSON. */
  const poisoned = (tenantId: string, fragment: string) => {
    const events = Array.from({ length: 10 }, (_, i) =>
      anEvent({ id: `e${i}`, payload: i === 4 ? { x: '__HERE__' } : { i } }),
    );
    return messageOf(JSON.stringify(aBatch({ tenantId, events })).replace(PLACE, fragment));
  };

  it.each([
    ['a NUL', String.raw`"x\u0000y"`],
    ['a lone surrogate', String.raw`"cut \ud83d"`],
    ['nesting 20,000 deep', `${'['.repeat(20_000)}${']'.repeat(20_000)}`],
    ['a number of 200,000 digits', '1e200000'],
  ])('stores every valid event next to one with %s, which makes its message a dead letter', async (_, fragment) => {
    const tenantId = newTenant();
    const neighbour = messageOf(aBatch({ tenantId, events: [anEvent({ id: 'neighbour' })] }));

    const outcomes = await recorderOn(database).record([poisoned(tenantId, fragment), neighbour]);

    expect(outcomes).toEqual([{ kind: 'poison', reason: expect.stringContaining('event e4 cannot be stored') }, ACK]);
    expect(await storedIds(tenantId)).toEqual(['e0', 'e1', 'e2', 'e3', 'e5', 'e6', 'e7', 'e8', 'e9', 'neighbour']);
  });

  it.each([
    ['a count beyond bigint', { usage: { inputTokens: 1e19 } }],
    ['a cost that is too large', { usage: { costUsd: 1e12 } }],
    ['no hash', { hash: undefined }],
    ['an unknown status', { kind: 'run.ended', outcome: 'exploded' }],
    ['an invalid time', { occurredAt: 'yesterday evening' }],
  ])('does the same for %s', async (_, fields) => {
    const tenantId = newTenant();
    const bad = { ...anEvent({ id: 'bad' }), ...(fields as object) } as ReturnType<typeof anEvent>;
    const events = [anEvent({ id: 'before' }), bad, anEvent({ id: 'end' })];

    const [outcome] = await recorderOn(database).record([messageOf(aBatch({ tenantId, events }))]);

    expect(outcome).toMatchObject({ kind: 'poison' });
    expect(await storedIds(tenantId)).toEqual(['before', 'end']);
  });

  it('finds each of several invalid events', async () => {
    const tenantId = newTenant();
    const events = Array.from({ length: 50 }, (_, i) =>
      anEvent({ id: `e${String(i).padStart(2, '0')}`, payload: i % 17 === 3 ? { x: 'a\u0000b' } : {} }),
    );

    await recorderOn(database).record([messageOf(aBatch({ tenantId, events }))]);

    const good = events.map((event) => event.id).filter((_, i) => i % 17 !== 3);
    expect(await storedIds(tenantId)).toEqual(good);
  });

  it('counts nothing twice if a message is redelivered after its events were stored but not acknowledged', async () => {
    const tenantId = newTenant();
    const batch = aBatch({ tenantId, events: [anEvent({ id: 'a', usage: { costUsd: 0.5 } }), anEvent({ id: 'b' })] });
    await recorderOn(database).record([messageOf(batch)]);

    expect(await recorderOn(database).record([messageOf(batch, 2)])).toEqual([ACK]);

    const run = await database.db.selectFrom('runs').selectAll().where('tenant_id', '=', tenantId).executeTakeFirst();
    expect(run).toMatchObject({ event_count: 2, cost_usd: 0.5 });
  });

  it('counts totals exactly even if their sum is too large for one statement', async () => {
    const tenantId = newTenant();
    const events = ['a', 'b', 'c'].map((id) => anEvent({ id, usage: { inputTokens: 2 ** 52 } }));

    expect(await recorderOn(database).record([messageOf(aBatch({ tenantId, events }))])).toEqual([ACK]);

    const { rows } = await database.pool.query('select input_tokens::text as tokens from runs where tenant_id = $1', [
      tenantId,
    ]);
    expect(rows).toEqual([{ tokens: String(3n * 2n ** 52n) }]);
  });

  it('stores new events next to ones that are stored already', async () => {
    const tenantId = newTenant();
    const event = (id: string) => anEvent({ id, usage: { costUsd: 0.5 } });
    await recorderOn(database).record([messageOf(aBatch({ tenantId, events: [event('a')] }))]);
    seen.recorded.length = 0;

    await recorderOn(database).record([messageOf(aBatch({ tenantId, events: [event('a'), event('b')] }))]);

    expect(seen.recorded).toMatchObject([{ stored: 1, duplicates: 1, conflicts: 0 }]);
    const run = await database.db.selectFrom('runs').selectAll().where('tenant_id', '=', tenantId).executeTakeFirst();
    expect(run).toMatchObject({ event_count: 2, cost_usd: 1 });
  });

  it('stores more events than fit into one statement', async () => {
    const tenantId = newTenant();
    const messages = Array.from({ length: 6 }, (_, m) =>
      messageOf(aBatch({ tenantId, events: Array.from({ length: 400 }, (_, i) => anEvent({ id: `${m}-${i}` })) })),
    );
    seen.recorded.length = 0;

    const outcomes = await recorderOn(database).record(messages);

    expect(outcomes).toEqual(messages.map(() => ACK));
    expect(seen.recorded.map(({ stored }) => stored)).toEqual([800, 800, 800]);
  });

  it('keeps messages with any contents for later while the database is unavailable', async () => {
    const tenantId = newTenant();
    const proxy = await tcpProxy(fresh.url);
    const away = openDatabase({ url: proxy.url, role: 'run-tracking' });
    await proxy.close();
    seen.poison.length = 0;

    const outcomes = await recorderOn(away).record([poisoned(tenantId, '1e200000')]);
    await away.close();

    expect(outcomes).toEqual([{ kind: 'retry', afterMs: expect.any(Number), reason: expect.any(String) }]);
    expect(seen.poison).toEqual([]);
  });
});
