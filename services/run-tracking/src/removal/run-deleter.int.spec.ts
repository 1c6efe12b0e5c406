import { agentEvents, COMMANDS, decisionDecided } from '@agentlens/contracts';
import { type Database, migrate, openDatabase } from '@agentlens/database';
import { createMemoryBus, type EventBus } from '@agentlens/messaging';
import { createLogger, HealthRegistry } from '@agentlens/platform';
import { aBatch, anEvent, type FreshDatabase, fixedClock, freshDatabase } from '@agentlens/testing';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import pg from 'pg';
import { ConsumingDecisionTracker, ConsumingRunTracker } from '../consuming.testing.ts';
import { aDecision } from '../decisions/decision.testing.ts';
import { RunDeleter } from './run-deleter.ts';

const NOW = '2026-03-01T12:00:00.000Z';
const logger = createLogger({ name: 'run-tracking', level: 'silent' });

describe('run deleter', () => {
  let fresh: FreshDatabase;
  let database: Database;
  let owner: pg.Client;
  let bus: EventBus;
  let tracker: ConsumingRunTracker;
  let decisions: ConsumingDecisionTracker;
  let deleter: RunDeleter;
  let asked: object[];
  let dispatcherIsAway: boolean;

  beforeEach(async () => {
    fresh = await freshDatabase({ migrate });
    database = openDatabase({ url: fresh.url, role: 'run-tracking' });
    owner = new pg.Client({ connectionString: fresh.url });
    await owner.connect();
    bus = createMemoryBus();
    asked = [];
    dispatcherIsAway = false;
    await bus.serve(COMMANDS.deleteRunActions, async (question) => {
      asked.push(question);
      if (dispatcherIsAway)
        return { ok: false as const, problem: { status: 503, error: 'The database does not answer now' } };
      return { ok: true as const, value: { ok: true as const } };
    });
    const parts = { bus, database, clock: fixedClock(NOW), logger, health: new HealthRegistry(), retentionDays: 0 };
    tracker = new ConsumingRunTracker(parts);
    decisions = new ConsumingDecisionTracker(parts);
    deleter = new RunDeleter(parts);
    await tracker.start();
    await decisions.start();
    deleter.start();
    await bus.serve(COMMANDS.deleteRun, (question) => deleter.delete(question));
  });
  afterEach(async () => {
    await Promise.all([deleter.stop(), decisions.stop(), tracker.stop()]);
    await bus.close();
    await owner.end();
    await database.close();
    await fresh.drop();
  });

  const event = (id: string, runId: string, tenantId = 'acme') =>
    bus.publish(agentEvents, aBatch({ tenantId, events: [anEvent({ id, runId, agentId: 'a', occurredAt: NOW })] }));
  const remove = (runId: string, tenantId = 'acme') =>
    bus.request(COMMANDS.deleteRun, {
      tenantId,
      runId,
      author: { keyId: 'k', keyName: 'laptop' },
      reason: 'asked for it',
    });
  const stored = async () => {
    const { rows } = await sql<{ events: string[]; runs: string[]; decisions: string[] }>`
      select array(select event_id from events order by 1) as events, array(select run_id from runs order by 1) as runs,
        array(select decision_id from decisions order by 1) as decisions`.execute(database.db);
    return rows[0];
  };
  const pass = () => sql`update deleted_runs set next_pass_at = now() - interval '1 second'`.execute(database.db);

  it('deletes the run here and in the dispatcher, audits it, and keeps other runs and daily counts', async () => {
    await event('e1', 'gone');
    await event('e2', 'stays');
    await event('e3', 'gone', 'globex');
    await bus.publish(decisionDecided, aDecision({ id: 'd1', tenantId: 'acme', runId: 'gone' }));
    await bus.publish(decisionDecided, aDecision({ id: 'd2', tenantId: 'acme', runId: 'stays' }));

    expect(await remove('gone')).toEqual({
      ok: true,
      value: { id: 'gone', deletedAt: expect.any(String), complete: true },
    });

    expect(await stored()).toEqual({ events: ['e2', 'e3'], runs: ['gone', 'stays'], decisions: ['d2'] });
    expect(asked).toEqual([{ tenantId: 'acme', runIds: ['gone'] }]);
    const audit = await owner.query('select kind, target_id, key_id, reason, before from audit_entries');
    expect(audit.rows).toEqual([
      {
        kind: 'run.deleted',
        target_id: 'gone',
        key_id: 'k',
        reason: 'asked for it',
        before: expect.objectContaining({ agentId: 'a', events: 1, status: 'running' }),
      },
    ]);
    const days = await owner.query(`select event_count::int as events from agent_daily where tenant_id = 'acme'`);
    expect(days.rows).toEqual([{ events: 2 }]);
  });

  it('drops late and redelivered events of deleted runs without counting them, and stores those of other runs', async () => {
    await event('e1', 'gone');
    await remove('gone');

    await event('e1', 'gone');
    await bus.publish(
      agentEvents,
      aBatch({
        tenantId: 'acme',
        events: [
          anEvent({ id: 'late', runId: 'gone', agentId: 'a', occurredAt: NOW }),
          anEvent({ id: 'other', runId: 'stays', agentId: 'a', occurredAt: NOW }),
        ],
      }),
    );
    await bus.publish(decisionDecided, aDecision({ id: 'd1', tenantId: 'acme', runId: 'gone' }));
    await event('same-name', 'gone', 'globex');

    expect(await stored()).toEqual({ events: ['other', 'same-name'], runs: ['gone', 'stays'], decisions: [] });
    const days = await owner.query(`select event_count::int as events from agent_daily where tenant_id = 'acme'`);
    expect(days.rows).toEqual([{ events: 2 }]);
  });

  it('deletes in a later pass what was being stored during the deletion', async () => {
    await event('e1', 'gone');
    await remove('gone');
    await sql`delete from deleted_runs`.execute(database.db);
    await event('e2', 'gone');
    await sql`insert into deleted_runs (tenant_id, run_id) values ('acme', 'gone')`.execute(database.db);

    await deleter.removeDue();

    expect(await stored()).toEqual({ events: [], runs: [], decisions: [] });
  });

  it('retries the dispatcher until it answers, and stops after an hour', async () => {
    await event('e1', 'gone');
    dispatcherIsAway = true;
    expect(await remove('gone')).toMatchObject({ ok: true, value: { complete: false } });

    dispatcherIsAway = false;
    // Runs that are due now go first.
    await deleter.removeDue();
    expect(asked).toHaveLength(1);
    await pass();
    await deleter.removeDue();
    expect(asked).toHaveLength(2);

    await sql`update deleted_runs set deleted_at = now() - interval '2 hours'`.execute(database.db);
    await pass();
    await deleter.removeDue();
    await deleter.removeDue();
    expect(asked).toHaveLength(3);
    const { rows } = await sql`select next_pass_at from deleted_runs`.execute(database.db);
    expect(rows).toEqual([{ next_pass_at: null }]);
  });

  it('detaches sub-runs, and returns 404 for a run that never existed or is deleted', async () => {
    await event('e1', 'gone');
    await bus.publish(
      agentEvents,
      aBatch({ tenantId: 'acme', events: [anEvent({ id: 'e2', runId: 'child', parentRunId: 'gone' })] }),
    );

    expect(await remove('gone')).toMatchObject({ ok: true });
    expect(await remove('gone')).toMatchObject({ ok: false, problem: { status: 404 } });
    expect(await remove('unknown')).toMatchObject({ ok: false, problem: { status: 404 } });
    expect(await remove('child', 'globex')).toMatchObject({ ok: false, problem: { status: 404 } });
    const { rows } = await sql`select run_id, parent_run_id from runs`.execute(database.db);
    expect(rows).toEqual([{ run_id: 'child', parent_run_id: null }]);
  });
});
