import { agentEvents, type EventBatch } from '@agentlens/contracts';
import { type Database, migrate, openDatabase } from '@agentlens/database';
import { connectNatsBus, createMemoryBus, type EventBus } from '@agentlens/messaging';
import { createLogger, HealthRegistry } from '@agentlens/platform';
import { connectRedisState, type StateStores } from '@agentlens/state';
import {
  aBatch,
  anEvent,
  eventually,
  type FreshDatabase,
  freshDatabase,
  startNats,
  startRedis,
  type TestServer,
} from '@agentlens/testing';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { ConsumingRunTracker } from '../consuming.testing.ts';
import { Auditor } from './auditor.ts';

const clock = { now: () => Date.now() };

describe('auditor', () => {
  let nats: TestServer;
  let redis: TestServer;
  let fresh: FreshDatabase;
  let database: Database;
  let bus: EventBus;
  let state: StateStores;
  let tracker: ConsumingRunTracker;
  let auditor: Auditor;
  let lines: { readonly msg: string }[];
  const acceptedIds = new Set<string>();

  beforeAll(async () => {
    [nats, redis] = await Promise.all([startNats(), startRedis()]);
  });
  afterAll(() => Promise.all([nats.stop(), redis.stop()]));

  const parts = (health = new HealthRegistry()) => {
    const stream = { write: (line: string) => void lines.push(JSON.parse(line)) };
    const logger = createLogger({ name: 'auditor', level: 'info', stream });
    return { bus, database, evaluationTally: state.evaluationTally, clock, health, logger, graceMs: 0 };
  };
  const anAuditor = (health?: HealthRegistry) => new Auditor(parts(health));
  const aTracker = () =>
    new ConsumingRunTracker({
      bus,
      database,
      clock,
      logger: createLogger({ name: 'run-tracking', level: 'silent' }),
      health: new HealthRegistry(),
      retentionDays: 30,
    });

  beforeEach(async () => {
    lines = [];
    acceptedIds.clear();
    minutes += 1;
    fresh = await freshDatabase({ migrate });
    database = openDatabase({ url: fresh.url, role: 'run-tracking' });
    bus = await connectNatsBus({ servers: nats.url, name: 'audit' });
    state = await connectRedisState({ url: redis.url, name: 'audit' });
    tracker = aTracker();
    await tracker.start();
    auditor = anAuditor();
    await auditor.turn();
  });
  afterEach(async () => {
    await tracker.stop();
    await bus.close();
    await state.close();
    await database.close();
    await fresh.drop();
  });

  /** Each test uses its own minute, because the servers and the tallies of a minute are shared. */
  let minutes = 0;
  const now = () => new Date(Date.parse('2026-11-21T09:00:00.000Z') + minutes * 60_000).toISOString();
  const batchOf = (ids: readonly string[], fields: Partial<EventBatch> = {}) => {
    const receivedAt = fields.receivedAt ?? now();
    return aBatch({ events: ids.map((id) => anEvent({ id, occurredAt: receivedAt })), receivedAt, ...fields });
  };
  /** Publishes a batch and reports it as evaluated, like an evaluator. */
  const accept = async (batch: EventBatch, evaluated = true) => {
    const { sequence } = await bus.publish(agentEvents, batch);
    for (const { id } of batch.events) acceptedIds.add(id);
    const mark = { ...batch, receivedAtMs: Date.parse(batch.receivedAt), sequence, events: batch.events.length };
    if (evaluated) await state.evaluationTally.add([mark]);
    return mark;
  };
  /**
   * Also checks the rows, because the broker may report no backlog before the consumer has received the last message.
   */
  const allStored = () =>
    eventually(async () => {
      const rows = await database.db.selectFrom('events').select('event_id').execute();
      expect(rows.map(({ event_id }) => event_id)).toEqual(expect.arrayContaining([...acceptedIds]));
      const lag = await bus.lag(agentEvents, 'run-tracking');
      expect(lag.pending + lag.unacknowledged).toBe(0);
    });
  const findings = () =>
    database.db
      .selectFrom('audit_minutes')
      .select(['tenant_id', 'accepted', 'state', 'not_stored', 'not_evaluated'])
      .orderBy('tenant_id')
      .orderBy('minute')
      .execute();

  it('finds equal counts per tenant', async () => {
    await accept(batchOf(['a', 'b']));
    await accept(batchOf(['a', 'c'], { tenantId: 'globex' }));
    await allStored();

    await auditor.turn();

    const equal = { accepted: 2, state: 'equal', not_stored: 0, not_evaluated: 0 };
    expect(await findings()).toEqual([
      { tenant_id: 'acme', ...equal },
      { tenant_id: 'globex', ...equal },
    ]);
    expect(lines).toEqual([]);
  });

  it('names a missing row and notices when it is back', async () => {
    const batch = batchOf(['a', 'b', 'c']);
    await accept(batch);
    await allStored();
    await database.pool.query("delete from events where event_id = 'b'");

    await auditor.turn();

    expect(await findings()).toEqual([
      { tenant_id: 'acme', accepted: 3, state: 'differs', not_stored: 1, not_evaluated: 0 },
    ]);
    expect(lines).toEqual([
      expect.objectContaining({
        tenantId: 'acme',
        accepted: 3,
        stored: 2,
        evaluated: 3,
        notStored: 1,
        notStoredIds: ['b'],
      }),
    ]);
    await accept({ ...batch, id: 'sent-again' });
    await allStored();

    await auditor.turn();
    expect(await findings()).toMatchObject([{ accepted: 6, state: 'equal', not_stored: 0 }]);
    expect(lines.at(-1)).toMatchObject({ msg: 'accepted, stored and evaluated events agree again' });
  });

  it('finds events that were not evaluated, and settles when they are evaluated twice', async () => {
    const mark = await accept(batchOf(['a', 'b']), false);
    await allStored();
    await auditor.turn();
    expect(await findings()).toMatchObject([{ state: 'differs', not_stored: 0, not_evaluated: 2 }]);

    await state.evaluationTally.add([mark]);
    await state.evaluationTally.add([mark]);
    await auditor.turn();

    expect(await findings()).toMatchObject([{ state: 'equal', not_evaluated: 0 }]);
  });

  it('does not count a duplicate as missing, within one minute or across two', async () => {
    await accept(batchOf(['a', 'b'], { receivedAt: '2026-11-21T10:00:59.000Z' }));
    await accept(
      aBatch({
        events: batchOf(['b', 'c'], { receivedAt: '2026-11-21T10:00:59.000Z' }).events,
        receivedAt: '2026-11-21T10:00:59.500Z',
      }),
    );
    await accept(
      aBatch({
        events: batchOf(['c'], { receivedAt: '2026-11-21T10:00:59.000Z' }).events,
        receivedAt: '2026-11-21T10:01:00.000Z',
      }),
    );
    await allStored();

    await auditor.turn();

    expect(await findings()).toMatchObject([
      { accepted: 4, state: 'equal' },
      { accepted: 1, state: 'equal' },
    ]);
    expect(lines).toEqual([]);
  });

  it('compares a minute again after a late message', async () => {
    const receivedAt = '2026-11-21T11:00:00.000Z';
    await accept(batchOf(['a'], { receivedAt }));
    await allStored();
    await auditor.turn();
    await accept(batchOf(['late'], { receivedAt }));
    await allStored();
    await database.pool.query("delete from events where event_id = 'late'");

    await auditor.turn();

    expect(await findings()).toMatchObject([{ accepted: 2, state: 'differs', not_stored: 1 }]);
  });

  it('resumes after a restart and lets replicas take turns', async () => {
    await accept(batchOf(['a']));
    await allStored();
    await Promise.all([anAuditor().turn(), anAuditor().turn(), auditor.turn()]);
    await accept(batchOf(['b']));
    await allStored();
    const health = new HealthRegistry();
    const restarted = anAuditor(health);

    await restarted.turn();

    expect(await findings()).toMatchObject([{ accepted: 2, state: 'equal' }]);
    expect(lines).toEqual([]);
    const { ready, checks } = await health.report();
    expect({ ready, audit: checks.audit }).toMatchObject({
      ready: true,
      audit: { ok: true, detail: { notStored: 0, notEvaluated: 0, minutesDiffering: 0 } },
    });
  });

  it('reports events that stay unstored while the tracker is down, and settles when it is back', async () => {
    await tracker.stop();
    await accept(batchOf(['a']));
    await auditor.turn();
    expect(await findings()).toMatchObject([{ state: 'differs', not_stored: 1 }]);

    tracker = aTracker();
    await tracker.start();
    await allStored();
    await auditor.turn();

    expect(await findings()).toMatchObject([{ state: 'equal', not_stored: 0 }]);
  });

  it('reports messages that expired before it could read them', async () => {
    const forgetful = createMemoryBus({ history: { messages: 1, bytes: 1_000_000 } });
    const watching = new Auditor({ ...parts(), bus: forgetful });
    await database.pool.query('delete from audit_position');
    await watching.turn();
    for (const id of ['a', 'b', 'c']) await forgetful.publish(agentEvents, batchOf([id]));

    await watching.turn();

    expect(lines).toContainEqual(expect.objectContaining({ messages: 2 }));
    await forgetful.close();
  });
});
