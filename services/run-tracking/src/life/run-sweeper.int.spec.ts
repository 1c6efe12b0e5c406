import { type AgentEvent, agentEvents, type RunChanged, runChanged, runHeartbeats } from '@agentlens/contracts';
import { type Database, migrate, openDatabase } from '@agentlens/database';
import { ACK, createMemoryBus, type EventBus } from '@agentlens/messaging';
import { createLogger } from '@agentlens/platform';
import {
  aBatch,
  anEvent,
  eventually,
  type FixedClock,
  type FreshDatabase,
  fixedClock,
  freshDatabase,
} from '@agentlens/testing';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { chunkOf, EventStore } from '../recording/event-store.ts';
import { RunSweeper } from './run-sweeper.ts';

const NOW = '2026-03-01T12:00:00.000Z';
const AN_HOUR = 3_600_000;

describe('run sweeper', () => {
  let fresh: FreshDatabase;
  let database: Database;
  let owner: pg.Client;
  let bus: EventBus;
  let clock: FixedClock;
  let sweeper: RunSweeper;
  let dropped: (readonly [what: string, count: number])[];

  beforeEach(async () => {
    dropped = [];
    fresh = await freshDatabase({ migrate });
    database = openDatabase({ url: fresh.url, role: 'run-tracking' });
    owner = new pg.Client({ connectionString: fresh.url });
    owner.on('error', () => undefined);
    await owner.connect();
    clock = fixedClock(NOW);
    bus = createMemoryBus({ clock });
    sweeper = newSweeper();
  });
  afterEach(async () => {
    await sweeper.stop();
    await bus.close();
    await owner.end();
    await database.close();
    await fresh.drop();
  });

  function newSweeper() {
    const logger = createLogger({ name: 'run-tracking', level: 'silent' });
    const drops = { dropped: (what: string, count: number) => dropped.push([what, count] as const) };
    return new RunSweeper({ bus, database, clock, logger, quietSeconds: 120, drops });
  }
  const record = (...events: AgentEvent[]) => new EventStore(database.pool).record(chunkOf([aBatch({ events })]));
  const started = (payload: object, fields: Partial<AgentEvent> = {}) =>
    anEvent({ id: 'start', runId: 'run', kind: 'run.started', payload: { ...payload }, ...fields });
  const later = (fields: Partial<AgentEvent>) =>
    anEvent({ id: 'later', runId: 'run', occurredAt: '2026-03-01T13:00:00.000Z', ...fields });
  /** Ages the rows: makes the database consider all runs created and last updated `ms` ago. */
  const age = (ms: number) =>
    owner.query(
      `update runs set created_at = now() - $1 * interval '1 ms', updated_at = now() - $1 * interval '1 ms'`,
      [ms],
    );
  const run = () =>
    database.db
      .selectFrom('runs')
      .select(['status', 'ended_at', 'end_place', 'heartbeat_every_ms'])
      .where('run_id', '=', 'run')
      .executeTakeFirst();

  it.each([
    ['times out a run past its time to live', { runTtlMs: 1_000 }, 1_001, 'timed_out'],
    ['keeps a run within its time to live', { runTtlMs: AN_HOUR }, 1_000, 'running'],
    ['marks a run as lost after three missed heartbeats', { heartbeatEveryMs: 2_000 }, 6_001, 'lost'],
    ['waits at least five seconds, even if heartbeats are more frequent', { heartbeatEveryMs: 100 }, 3_000, 'running'],
    ['does not mark a run as lost after two missed heartbeats', { heartbeatEveryMs: AN_HOUR }, 2 * AN_HOUR, 'running'],
    ['prefers timed out if a run is also lost', { heartbeatEveryMs: 1_000, runTtlMs: 1_000 }, 6_001, 'timed_out'],
    ['keeps a run that has neither a time to live nor heartbeats', {}, 365 * 24 * AN_HOUR, 'running'],
  ])('%s', async (_, payload, ms, status) => {
    await record(started(payload));
    await age(ms);

    await sweeper.sweep();

    expect(await run()).toMatchObject({ status, ended_at: null, end_place: null });
  });

  it('uses the database clock, not the clock of the agent', async () => {
    await record(started({ runTtlMs: 60_000 }, { occurredAt: '2020-01-01T00:00:00.000Z' }));

    await sweeper.sweep();

    expect(await run()).toMatchObject({ status: 'running' });
  });

  it.each([
    ['a lost run is running again after a new event', { heartbeatEveryMs: 1 }, {}, 'running'],
    ['a lost run that reports its end has ended', { heartbeatEveryMs: 1 }, { kind: 'run.ended' }, 'succeeded'],
    ['a timed-out run stays timed out after a new event', { runTtlMs: 1 }, {}, 'timed_out'],
    ['a timed-out run that reports its end has ended', { runTtlMs: 1 }, { kind: 'run.ended' }, 'succeeded'],
    [
      'a timed-out run is running again after its time to live was extended',
      { runTtlMs: 1 },
      { kind: 'run.started', payload: { runTtlMs: AN_HOUR } },
      'running',
    ],
  ] as const)('%s', async (_, payload, fields, status) => {
    await record(started(payload));
    await age(AN_HOUR);
    await sweeper.sweep();
    expect((await run())?.status).not.toBe('running');

    await record(later(fields as Partial<AgentEvent>));

    expect(await run()).toMatchObject({ status });
  });

  describe('a run of spans', () => {
    const span = (fields: Partial<AgentEvent>) => anEvent({ runId: 'run', dialect: 'otlp', ...fields });
    const call = (id: string) => span({ id, kind: 'llm.completed' });
    const agentEnded = (outcome: 'succeeded' | 'failed') =>
      span({ id: `end-${outcome}`, kind: 'run.ended', outcome, payload: { by: 'agent' } });
    const day = () =>
      database.db
        .selectFrom('agent_daily')
        .select(['run_count', 'run_succeeded_count', 'run_error_count'])
        .executeTakeFirstOrThrow();

    it.each(['succeeded', 'failed'] as const)('ends as %s like its agent after a quiet period', async (outcome) => {
      await record(call('a'), agentEnded(outcome));
      await age(119_000);
      await sweeper.sweep();
      expect(await run()).toMatchObject({ status: 'running' });

      await age(121_000);
      await sweeper.sweep();

      expect(await run()).toMatchObject({ status: outcome, ended_at: null, end_place: null });
      expect(await day()).toEqual({
        run_count: 1,
        run_succeeded_count: Number(outcome === 'succeeded'),
        run_error_count: Number(outcome === 'failed'),
      });
    });

    it('is running again after a new event, and so are its day counts', async () => {
      await record(call('a'), agentEnded('succeeded'));
      await age(121_000);
      await sweeper.sweep();

      await record(call('b'));
      expect(await run()).toMatchObject({ status: 'running' });
      expect(await day()).toEqual({ run_count: 1, run_succeeded_count: 0, run_error_count: 0 });

      await record(span({ id: 'root', kind: 'run.ended', outcome: 'succeeded', payload: { by: 'root' } }));
      expect(await run()).toMatchObject({ status: 'succeeded' });
      expect(await day()).toEqual({ run_count: 1, run_succeeded_count: 1, run_error_count: 0 });
    });

    it('is lost after half an hour without an end, and running again with its next span', async () => {
      await record(call('a'));
      await age(AN_HOUR / 2 - 10_000);
      await sweeper.sweep();
      expect(await run()).toMatchObject({ status: 'running' });

      await age(AN_HOUR / 2 + 1_000);
      await sweeper.sweep();
      expect(await run()).toMatchObject({ status: 'lost' });

      await record(call('b'));
      expect(await run()).toMatchObject({ status: 'running' });
    });

    it('fails if its agent failed although the root succeeded, in either order', async () => {
      const root = span({ id: 'root', kind: 'run.ended', outcome: 'succeeded', payload: { by: 'root' } });
      await record(root);
      expect(await run()).toMatchObject({ status: 'succeeded' });
      await record(agentEnded('failed'));
      expect(await run()).toMatchObject({ status: 'failed' });
    });
  });

  it('does not change a run that has ended', async () => {
    await record(started({ runTtlMs: 1, heartbeatEveryMs: 1 }), later({ kind: 'run.ended', outcome: 'cancelled' }));
    await age(AN_HOUR);

    await sweeper.sweep();

    expect(await run()).toMatchObject({ status: 'cancelled' });
  });

  it('ends each run once if several replicas sweep, and publishes the change', async () => {
    await record(...Array.from({ length: 50 }, (_, i) => started({ runTtlMs: 1 }, { id: `e${i}`, runId: `run-${i}` })));
    await age(AN_HOUR);
    const changes: RunChanged[] = [];
    await bus.watch(runChanged, { tenantId: 'acme' }, ({ value }) => changes.push(value));
    const sweepers = [sweeper, newSweeper(), newSweeper()];

    await Promise.all(sweepers.map((one) => one.sweep()));
    await Promise.all(sweepers.map((one) => one.stop()));

    await eventually(() => expect(changes.flatMap(({ runIds }) => runIds)).toHaveLength(50));
    expect(new Set(changes.flatMap(({ runIds }) => runIds)).size).toBe(50);
  });

  it('does not treat a backlog of events as silence', async () => {
    await record(started({ heartbeatEveryMs: 1 }));
    await age(AN_HOUR);
    const held = Promise.withResolvers<readonly [typeof ACK]>();
    await bus.consume(agentEvents, { group: 'run-tracking' }, () => held.promise);
    const published = bus.publish(agentEvents, aBatch());
    clock.advance(AN_HOUR);

    await sweeper.sweep();

    expect(await run()).toMatchObject({ status: 'running' });
    held.resolve([ACK]);
    await published;
  });

  it('records heartbeats, which keep a run alive and revive a lost one', async () => {
    await sweeper.start();
    await record(started({ heartbeatEveryMs: 1_000 }));
    await age(AN_HOUR);
    const beat = async (at: string) => {
      const beats = [{ runId: 'run', agentId: 'agent', at, everyMs: AN_HOUR }];
      await bus.publish(runHeartbeats, { tenantId: 'acme', beats });
    };
    await sweeper.sweep();
    expect(await run()).toMatchObject({ status: 'lost' });

    await beat(new Date().toISOString());

    await eventually(async () => expect(await run()).toMatchObject({ status: 'running', heartbeat_every_ms: AN_HOUR }));
    await sweeper.sweep();
    expect(await run()).toMatchObject({ status: 'running' });
  });

  it('counts heartbeats that it could not record or hold', async () => {
    await owner.query('alter table runs rename to elsewhere');
    await sweeper.start();
    const beats = Array.from({ length: 10_500 }, (_, n) => ({ runId: `run-${n}`, agentId: 'agent', at: NOW }));
    for (let from = 0; from < beats.length; from += 1_000) {
      await bus.publish(runHeartbeats, { tenantId: 'acme', beats: beats.slice(from, from + 1_000) });
    }
    await eventually(() => expect(dropped.reduce((sum, [, count]) => sum + count, 0)).toBe(10_500));
    expect(new Set(dropped.map(([what]) => what))).toEqual(new Set(['heartbeat']));
  });

  it('ignores heartbeats of an unknown run or of another tenant', async () => {
    await sweeper.start();
    await record(started({ heartbeatEveryMs: 1 }));
    await age(AN_HOUR);
    const beats = [{ runId: 'run', agentId: 'agent', at: new Date().toISOString() }];
    await bus.publish(runHeartbeats, { tenantId: 'globex', beats });
    await sweeper.takeBeats();

    await sweeper.sweep();

    expect(await run()).toMatchObject({ status: 'lost' });
    expect(await database.db.selectFrom('runs').select('run_id').execute()).toHaveLength(1);
  });
});
