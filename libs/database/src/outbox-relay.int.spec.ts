import { eventually, type FreshDatabase, freshDatabase } from '@agentlens/testing';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { Database } from './database.ts';
import { migrate } from './migrate.ts';
import { openDatabase } from './open-database.ts';
import { OutboxRelay } from './outbox-relay.ts';

const NOW = '2026-03-01T12:00:00.000Z';

describe('outbox relay', () => {
  let fresh: FreshDatabase;
  let database: Database;

  beforeAll(async () => {
    fresh = await freshDatabase({ migrate });
    database = openDatabase({ url: fresh.url, role: 'guardrail-evaluator' });
  });
  afterAll(async () => {
    await database.close();
    await fresh.drop();
  });
  beforeEach(async () => {
    await database.db.deleteFrom('outbox').execute();
  });

  const write = (numbers: readonly number[], writer = 'guardrail-evaluator') =>
    database.db
      .insertInto('outbox')
      .values(numbers.map((n) => ({ writer, topic: 'control.rules', body: JSON.stringify({ n }), created_at: NOW })))
      .execute();
  const relayInto = (seen: unknown[], options: { failAt?: number } = {}) =>
    new OutboxRelay({
      db: database.db,
      writer: 'guardrail-evaluator',
      publish: async ({ body }) => {
        if (body.n === options.failAt) throw new Error('broker away');
        seen.push(body.n);
      },
    });
  const left = async () => (await database.db.selectFrom('outbox').select('body').execute()).map(({ body }) => body.n);

  it('publishes the rows of its writer in order and deletes them', async () => {
    await write([1, 2, 3]);
    await write([99], 'action-dispatcher');
    const seen: unknown[] = [];

    expect(await relayInto(seen).drain()).toBe(3);

    expect(seen).toEqual([1, 2, 3]);
    expect(await left()).toEqual([99]);
  });

  it('keeps a row that could not be published and all later ones', async () => {
    await write([1, 2, 3]);
    const seen: unknown[] = [];

    await expect(relayInto(seen, { failAt: 2 }).drain()).rejects.toThrow('broker away');
    expect(await left()).toEqual([2, 3]);
    await relayInto(seen).drain();

    expect(seen).toEqual([1, 2, 3]);
  });

  it('publishes adjacent unordered rows together, and nothing else with them', async () => {
    await write([1, 12, 14, 3, 16]);
    const log: string[] = [];
    const bothUnderWay = Promise.withResolvers<void>();
    const relay = new OutboxRelay({
      db: database.db,
      writer: 'guardrail-evaluator',
      unordered: ({ body }) => Number(body.n) > 10,
      publish: async ({ body }) => {
        log.push(`begin ${Number(body.n)}`);
        if (body.n === 14) bothUnderWay.resolve();
        if (body.n === 12) await bothUnderWay.promise;
        if (body.n === 14) throw new Error('broker away');
        log.push(`end ${Number(body.n)}`);
      },
    });

    await expect(relay.drain()).rejects.toThrow('broker away');

    expect(log).toEqual(['begin 1', 'end 1', 'begin 12', 'begin 14', 'end 12']);
    expect(new Set(await left())).toEqual(new Set([3, 14, 16]));
  });

  it('publishes each row once with several concurrent relays', async () => {
    await write(Array.from({ length: 250 }, (_, n) => n));
    const seen: unknown[] = [];
    const relays = [1, 2, 3].map(() => relayInto(seen));

    for (const relay of relays) relay.start();
    await eventually(async () => expect(await left()).toEqual([]));
    await Promise.all(relays.map((relay) => relay.stop()));

    expect(seen).toEqual(Array.from({ length: 250 }, (_, n) => n));
  });

  it('publishes immediately when nudged', async () => {
    const seen: unknown[] = [];
    const relay = new OutboxRelay({
      db: database.db,
      writer: 'guardrail-evaluator',
      publish: async ({ body }) => seen.push(body.n),
      pollMs: 3_600_000,
    });
    relay.start();
    await write([7]);

    relay.nudge();

    await eventually(() => expect(seen).toEqual([7]));
    await relay.stop();
  });
});
