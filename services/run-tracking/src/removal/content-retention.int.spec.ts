import { agentEvents, decisionDecided } from '@agentlens/contracts';
import { type Database, migrate, openDatabase } from '@agentlens/database';
import { createMemoryBus, type EventBus } from '@agentlens/messaging';
import { createLogger, HealthRegistry } from '@agentlens/platform';
import { aBatch, anEvent, type FreshDatabase, fixedClock, freshDatabase } from '@agentlens/testing';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import pg from 'pg';
import { ConsumingDecisionTracker, ConsumingRunTracker } from '../consuming.testing.ts';
import { aDecision } from '../decisions/decision.testing.ts';
import { ContentRetention } from './content-retention.ts';

const NOW = '2026-03-01T12:00:00.000Z';
const OLD = '2026-02-20T12:00:00.000Z';
const logger = createLogger({ name: 'run-tracking', level: 'silent' });

describe('retention of contents', () => {
  let fresh: FreshDatabase;
  let database: Database;
  let owner: pg.Client;
  let bus: EventBus;
  let tracker: ConsumingRunTracker;
  let decisions: ConsumingDecisionTracker;
  const clock = fixedClock(NOW);

  beforeEach(async () => {
    fresh = await freshDatabase({ migrate });
    database = openDatabase({ url: fresh.url, role: 'run-tracking' });
    owner = new pg.Client({ connectionString: fresh.url });
    await owner.connect();
    for (const [id, days] of Object.entries({ acme: 7, globex: null })) {
      await owner.query(
        'insert into tenants (id, name, created_at, content_retention_days) values ($1, $1, now(), $2)',
        [id, days],
      );
    }
    bus = createMemoryBus();
    const parts = { bus, database, clock, logger, health: new HealthRegistry(), retentionDays: 0 };
    tracker = new ConsumingRunTracker(parts);
    decisions = new ConsumingDecisionTracker(parts);
    await tracker.start();
    await decisions.start();
  });
  afterEach(async () => {
    await Promise.all([decisions.stop(), tracker.stop()]);
    await bus.close();
    await owner.end();
    await database.close();
    await fresh.drop();
  });

  const retention = () => new ContentRetention({ database, clock, logger });
  const send = (tenantId: string, id: string, occurredAt: string, fields: Parameters<typeof anEvent>[0] = {}) =>
    bus.publish(agentEvents, aBatch({ tenantId, events: [anEvent({ id, occurredAt, runId: id, ...fields })] }));
  const events = async () => {
    const { rows } = await sql<{ id: string; payload: object; metadata: object; expired: boolean | null }>`
      select event_id as id, payload, metadata, content_expired as expired from events order by 1`.execute(database.db);
    return Object.fromEntries(rows.map(({ id, ...row }) => [id, row]));
  };

  it('removes older contents and keeps counts, only for tenants with the setting', async () => {
    const payload = { arguments: { to: 'ann@example.org' }, result: 'sent', error: 'no such user ann', durationMs: 12 };
    const metadata = { note: 'for ann', otlp: { spanId: 's', parentSpanId: 'p', attributes: { prompt: 'hello' } } };
    const fields = { payload, metadata, usage: { inputTokens: 5, costUsd: 0.5 } };
    await send('acme', 'old', OLD, fields);
    await send('acme', 'new', NOW, fields);
    await send('globex', 'foreign', OLD, fields);

    await retention().batch();

    const whole = { payload, metadata, expired: null };
    expect(await events()).toEqual({
      old: {
        payload: { durationMs: 12, error: 'removed' },
        metadata: { otlp: { spanId: 's', parentSpanId: 'p' } },
        expired: true,
      },
      new: whole,
      foreign: whole,
    });
    const { rows } = await sql`
      select input_tokens, cost_usd::float8 as cost_usd from events where event_id = 'old'`.execute(database.db);
    expect(rows).toEqual([{ input_tokens: 5, cost_usd: 0.5 }]);
  });

  it('removes the arguments of decisions and the results of runs', async () => {
    const content = { result: { text: 'dear ann' }, error: 'ann was away' };
    await send('acme', 'old', OLD, { kind: 'run.ended', payload: content });
    await send('acme', 'new', NOW, { kind: 'run.ended', payload: content });
    for (const [id, decidedAt] of Object.entries({ d1: OLD, d2: NOW })) {
      await bus.publish(decisionDecided, aDecision({ id, decidedAt, arguments: { to: 'ann' } }));
    }

    await retention().batch();

    const { rows: runs } = await sql`
      select run_id as id, result, error_message as error from runs order by 1`.execute(database.db);
    expect(runs).toEqual([
      { id: 'new', result: content.result, error: content.error },
      { id: 'old', result: null, error: null },
    ]);
    const { rows } = await sql`select decision_id as id, arguments from decisions order by 1`.execute(database.db);
    expect(rows).toEqual([
      { id: 'd1', arguments: null },
      { id: 'd2', arguments: { to: 'ann' } },
    ]);
  });

  it('works in bounded batches, then waits, and finds late events', async () => {
    const many = Array.from({ length: 2_001 }, (_, i) => anEvent({ id: `e${i}`, runId: 'r', occurredAt: OLD }));
    await bus.publish(agentEvents, aBatch({ tenantId: 'acme', events: many }));
    const rounds = retention();
    const left = async () => {
      const { rows } = await sql<{ left: number }>`
        select count(*)::int as left from events where content_expired is null`.execute(database.db);
      return rows[0]?.left;
    };

    expect(await rounds.batch()).toBeLessThan(1_000);
    expect(await left()).toBe(1);
    expect(await rounds.batch()).toBe(3_600_000);
    expect(await left()).toBe(0);
    await send('acme', 'late', '2026-02-22T00:00:00.000Z');
    await rounds.batch();
    expect(await left()).toBe(0);
  });
});
