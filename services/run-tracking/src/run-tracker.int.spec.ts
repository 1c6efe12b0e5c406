import {
  type AgentEvent,
  agentEvents,
  type EventBatch,
  GROUPS,
  type RunChanged,
  runChanged,
} from '@agentlens/contracts';
import { type Database, migrate, openDatabase } from '@agentlens/database';
import { connectNatsBus, createMemoryBus, type EventBus } from '@agentlens/messaging';
import { createLogger, HealthRegistry } from '@agentlens/platform';
import {
  aBatch,
  anEvent,
  eventually,
  type FreshDatabase,
  fixedClock,
  freshDatabase,
  startNats,
  type TestServer,
} from '@agentlens/testing';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import { ConsumingRunTracker } from './consuming.testing.ts';
import { EventRecorder } from './recording/event-recorder.ts';
import { EventStore } from './recording/event-store.ts';

const NOW = '2026-03-01T12:00:00.000Z';
const logger = createLogger({ name: 'run-tracking', level: 'silent' });

describe('run tracker', () => {
  let fresh: FreshDatabase;
  let database: Database;
  let bus: EventBus;
  let tracker: ConsumingRunTracker;
  let health: HealthRegistry;

  beforeEach(async () => {
    fresh = await freshDatabase({ migrate });
    database = openDatabase({ url: fresh.url, role: 'run-tracking' });
    bus = createMemoryBus();
    health = new HealthRegistry();
    tracker = new ConsumingRunTracker({ bus, database, clock: fixedClock(NOW), logger, health, retentionDays: 30 });
    await tracker.start();
  });
  afterEach(async () => {
    await tracker.stop();
    await bus.close();
    await database.close();
    await fresh.drop();
  });

  const at = (id: string, occurredAt: string) => anEvent({ id, occurredAt });
  const places = async () => {
    const { rows } = await sql<{ id: string; place: string }>`
      select event_id as id, tableoid::regclass::text as place from events order by event_id`.execute(database.db);
    return Object.fromEntries(rows.map(({ id, place }) => [id, place]));
  };

  it('has stored every event that the bus acknowledged', async () => {
    await bus.publish(agentEvents, aBatch({ events: [at('a', NOW), at('b', NOW)] }));

    expect(Object.keys(await places())).toEqual(['a', 'b']);
  });

  it('stores late and early events under their own day, and events outside of retention in the default partition', async () => {
    const events = [
      at('a-now', NOW),
      at('b-late', '2026-02-10T05:00:00.000Z'),
      at('c-early', '2026-03-02T00:00:00.000Z'),
      at('d-ancient', '2019-01-01T00:00:00.000Z'),
      at('e-future', '2031-01-01T00:00:00.000Z'),
    ];

    await bus.publish(agentEvents, aBatch({ events }));

    expect(await places()).toEqual({
      'a-now': 'events_20260301',
      'b-late': 'events_20260210',
      'c-early': 'events_20260302',
      'd-ancient': 'events_other',
      'e-future': 'events_other',
    });
  });

  it('drops days past retention when it starts', async () => {
    await bus.publish(agentEvents, aBatch({ events: [at('old', '2026-02-10T05:00:00.000Z'), at('new', NOW)] }));
    const later = new ConsumingRunTracker({
      bus: createMemoryBus(),
      database,
      clock: fixedClock('2026-03-20T00:00:00.000Z'),
      logger,
      health: new HealthRegistry(),
      retentionDays: 30,
    });

    await later.start();
    await later.stop();

    expect(Object.keys(await places())).toEqual(['new']);
  });

  it('publishes which runs changed, after their events can be read', async () => {
    const changes: RunChanged[] = [];
    await bus.watch(runChanged, { tenantId: 'acme' }, ({ value }) => changes.push(value));

    await bus.publish(agentEvents, aBatch({ events: [anEvent({ runId: 'one' }), anEvent({ runId: 'two' })] }));

    await eventually(() => expect(changes.flatMap(({ runIds }) => runIds).sort()).toEqual(['one', 'two']));
  });

  it('reports progress', async () => {
    await bus.publish(agentEvents, aBatch());

    const { ready, checks } = await health.report();

    expect(ready).toBe(true);
    expect(checks['event-storage']?.detail).toMatchObject({ pending: 0, lastCommitAgeMs: 0 });
  });
});

describe('two replicas on NATS', () => {
  let nats: TestServer;
  let fresh: FreshDatabase;
  const databases: Database[] = [];
  const buses: EventBus[] = [];

  beforeAll(async () => {
    [nats, fresh] = await Promise.all([startNats(), freshDatabase({ migrate })]);
  });
  afterAll(async () => {
    await Promise.all(buses.map((bus) => bus.close()));
    await Promise.all(databases.map((database) => database.close()));
    await Promise.all([nats.stop(), fresh.drop()]);
  });

  const connect = async (name: string) => {
    const bus = await connectNatsBus({ servers: nats.url, name });
    buses.push(bus);
    return bus;
  };
  const openOne = () => {
    const database = openDatabase({ url: fresh.url, role: 'run-tracking' });
    databases.push(database);
    return database;
  };

  it('store each event once although all are sent three times, shuffled, and one replica dies before it acknowledges', async () => {
    const events: AgentEvent[] = Array.from({ length: 600 }, (_, i) =>
      anEvent({
        id: `e${i}`,
        runId: `run-${i % 11}`,
        agentId: `agent-${i % 4}`,
        isError: i % 20 === 0,
        occurredAt: new Date(Date.parse(NOW) + i * 7_919).toISOString(),
        usage: { costUsd: 0.000_001 * i },
      }),
    );
    const batches: EventBatch[] = Array.from({ length: 90 }, (_, m) =>
      aBatch({ events: events.slice((m % 30) * 20, (m % 30) * 20 + 20) }),
    );
    const publisher = await connect('publisher');
    await Promise.all(
      batches
        .toSorted((a, b) => (a.id.at(-1) ?? '').localeCompare(b.id.at(-1) ?? ''))
        .map((batch) => publisher.publish(agentEvents, batch)),
    );

    // Stores and never acknowledges, like a process that is killed between insert and acknowledgement.
    const dying = await connect('dying');
    const dyingDatabase = openOne();
    const held = Promise.withResolvers<void>();
    let taken = 0;
    const recorder = new EventRecorder({
      store: new EventStore(dyingDatabase.pool),
      prepareDays: async () => {},
      onRecorded: () => {},
      onPoison: () => {},
      onAway: () => {},
    });
    const options = { group: GROUPS.runTracking, maxBatch: 10, concurrency: 1, ackWaitMs: 30_000 };
    const crash = await dying.consume(agentEvents, options, async (messages) => {
      await recorder.record(messages);
      taken += messages.length;
      held.resolve();
      throw new Error('killed before it acknowledged');
    });
    await held.promise;
    await crash.close();

    const replicas = await Promise.all(
      ['one', 'two'].map(async (name) => {
        const parts = { clock: fixedClock(NOW), logger, health: new HealthRegistry(), retentionDays: 30 };
        const replica = new ConsumingRunTracker({ bus: await connect(name), database: openOne(), ...parts });
        await replica.start();
        return replica;
      }),
    );
    await eventually(
      async () => {
        const lag = await publisher.lag(agentEvents, GROUPS.runTracking);
        expect(lag.pending + lag.unacknowledged).toBe(0);
      },
      { timeoutMs: 25_000 },
    );
    await Promise.all(replicas.map((replica) => replica.stop()));

    const { db } = openOne();
    const runs = await db.selectFrom('runs').selectAll().execute();
    const agents = await db.selectFrom('agents').selectAll().execute();
    const days = await db.selectFrom('agent_daily').selectAll().execute();
    const sum = <T>(rows: readonly T[], of: (row: T) => number) => rows.reduce((total, row) => total + of(row), 0);
    expect(taken).toBeGreaterThan(0);
    expect(await db.selectFrom('events').select('event_id').execute()).toHaveLength(600);
    for (const rows of [runs, agents, days]) {
      expect(sum<{ event_count: number }>(rows, (row) => row.event_count)).toBe(600);
      expect(sum<{ error_count: number }>(rows, (row) => row.error_count)).toBe(30);
      expect(Math.round(sum<{ cost_usd: number }>(rows, (row) => row.cost_usd) * 1e6)).toBe((600 * 599) / 2);
    }
    expect(sum(agents, (row) => row.run_count)).toBe(runs.length);
    expect(sum(days, (row) => row.run_count)).toBe(runs.length);
  });
});
