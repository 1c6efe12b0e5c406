import { agentEvents, COMMANDS, decisionDecided } from '@agentlens/contracts';
import { type Database, migrate, openDatabase } from '@agentlens/database';
import { createMemoryBus, type EventBus } from '@agentlens/messaging';
import { createLogger, HealthRegistry } from '@agentlens/platform';
import { createMemoryState, type RunContexts } from '@agentlens/state';
import { aBatch, anEvent, type FreshDatabase, fixedClock, freshDatabase } from '@agentlens/testing';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import pg from 'pg';
import { ConsumingDecisionTracker, ConsumingRunTracker } from '../consuming.testing.ts';
import { aDecision } from '../decisions/decision.testing.ts';
import { ActorEraser } from './actor-eraser.ts';
import { Erasures } from './erasures.repository.ts';

const NOW = '2026-03-01T12:00:00.000Z';
const logger = createLogger({ name: 'run-tracking', level: 'silent' });

describe('actor eraser', () => {
  let fresh: FreshDatabase;
  let database: Database;
  let owner: pg.Client;
  let bus: EventBus;
  let tracker: ConsumingRunTracker;
  let decisions: ConsumingDecisionTracker;
  let eraser: ActorEraser;
  let runContexts: RunContexts;
  let asked: string[][];
  let dispatcherIsAway: boolean;

  beforeEach(async () => {
    fresh = await freshDatabase({ migrate });
    database = openDatabase({ url: fresh.url, role: 'run-tracking' });
    owner = new pg.Client({ connectionString: fresh.url });
    await owner.connect();
    bus = createMemoryBus();
    asked = [];
    dispatcherIsAway = false;
    await bus.serve(COMMANDS.eraseRunActions, async ({ runIds }) => {
      asked.push(runIds);
      if (dispatcherIsAway)
        return { ok: false as const, problem: { status: 503, error: 'The database does not answer now' } };
      return { ok: true as const, value: { ok: true as const } };
    });
    const parts = { bus, database, clock: fixedClock(NOW), logger, health: new HealthRegistry(), retentionDays: 0 };
    tracker = new ConsumingRunTracker(parts);
    decisions = new ConsumingDecisionTracker(parts);
    ({ runContexts } = createMemoryState());
    eraser = new ActorEraser({ ...parts, runContexts });
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

  const started = (runId: string, externalId: string | undefined, more: object = {}) =>
    bus.publish(
      agentEvents,
      aBatch({
        tenantId: 'acme',
        events: [
          anEvent({
            ...{ id: `e-${runId}`, runId, kind: 'run.started', occurredAt: NOW, ...more },
            payload: { prompt: 'secret', ...(externalId !== undefined && { actor: { externalId, name: 'Name' } }) },
          }),
        ],
      }),
    );
  const erase = async (actorId: string) => {
    const author = { keyId: 'k', keyName: 'laptop' };
    return (await new Erasures(database).begin({ tenantId: 'acme', actorId, author })).erasure_id;
  };
  const runs = async () => {
    const { rows } = await sql<{ id: string; actor: string | null; prompt: string | null; events: number }>`
      select r.run_id as id, r.actor_id as actor, r.event_count::int as events,
        (select payload->>'prompt' from events e where e.run_id = r.run_id) as prompt
      from runs r order by 1`.execute(database.db);
    return rows;
  };
  const audit = async () => {
    const { rows } = await owner.query(
      'select kind, target_id as id, key_id as key, after from audit_entries order by at',
    );
    return rows;
  };

  it('erases the runs of the actor and their sub-runs, and keeps counts and other actors', async () => {
    await started('of-ann', 'ann');
    await started('sub', undefined, { parentRunId: 'of-ann' });
    await started('of-ben', 'ben', { parentRunId: 'of-ann' });
    await bus.publish(decisionDecided, aDecision({ runId: 'of-ann', arguments: { to: 'ann' } }));

    const id = await erase('ann');
    await eraser.turn();
    await eraser.turn();

    expect(await runs()).toEqual([
      { id: 'of-ann', actor: null, prompt: null, events: 1 },
      { id: 'of-ben', actor: 'ben', prompt: 'secret', events: 1 },
      { id: 'sub', actor: null, prompt: null, events: 1 },
    ]);
    expect(asked.map((ids) => ids.toSorted())).toEqual([['of-ann', 'sub']]);
    const { rows: kept } = await sql`select arguments from decisions`.execute(database.db);
    expect(kept).toEqual([{ arguments: null }]);
    const { rows } = await sql`
      select state, actor_id, runs, events from erasures where erasure_id = ${id}`.execute(database.db);
    expect(rows).toEqual([{ state: 'finished', actor_id: null, runs: 2, events: 2 }]);
    const actorDigest = expect.stringMatching(/^[0-9a-f]{64}$/);
    expect(await audit()).toEqual([
      { kind: 'erasure.started', id, key: 'k', after: { actorDigest } },
      { kind: 'erasure.finished', id, key: 'k', after: { actorDigest, runs: 2, events: 2 } },
    ]);
  });

  it('removes the actor from the contexts of its runs', async () => {
    const context = (externalId: string) => ({ agentId: 'a', actor: { externalId, name: 'Name' } });
    await started('of-ann', 'ann');
    await started('sub', undefined, { parentRunId: 'of-ann' });
    await started('of-ben', 'ben');
    await runContexts.keep('acme', 'of-ann', context('ann'));
    await runContexts.keep('acme', 'sub', context('ann'));
    await runContexts.keep('acme', 'of-ben', context('ben'));
    await erase('ann');
    await eraser.turn();
    for (const run of ['of-ann', 'sub']) expect(await runContexts.find('acme', run)).toEqual({ agentId: 'a' });
    expect(await runContexts.find('acme', 'of-ben')).toEqual(context('ben'));
  });

  it('continues after the dispatcher did not answer, and counts nothing twice', async () => {
    await started('of-ann', 'ann');
    await erase('ann');
    dispatcherIsAway = true;
    await eraser.turn();
    expect(await runs()).toMatchObject([{ actor: 'ann', prompt: 'secret' }]);

    dispatcherIsAway = false;
    await Promise.all([eraser.turn(), new ActorEraser({ bus, database, logger, runContexts }).turn()]);
    await Promise.all([eraser.turn(), new ActorEraser({ bus, database, logger, runContexts }).turn()]);

    expect(await runs()).toMatchObject([{ actor: null, prompt: null }]);
    expect((await audit()).map(({ kind }) => kind)).toEqual(['erasure.started', 'erasure.finished']);
  });

  it('returns the running erasure, and starts a new one after it has finished', async () => {
    const first = await erase('ann');
    expect(await erase('ann')).toBe(first);
    await eraser.turn();
    expect(await erase('ann')).not.toBe(first);
  });
});
