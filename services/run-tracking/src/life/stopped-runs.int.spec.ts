import type { AgentEvent } from '@agentlens/contracts';
import { type Database, migrate, openDatabase } from '@agentlens/database';
import { aBatch, anEvent, type FreshDatabase, freshDatabase } from '@agentlens/testing';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import pg from 'pg';
import { aDecision } from '../decisions/decision.testing.ts';
import { DecisionStore } from '../decisions/decision-store.ts';
import { chunkOf, EventStore } from '../recording/event-store.ts';
import { StoppedRuns } from './stopped-runs.ts';

const minute = (n: number) => new Date(Date.now() - 600_000 + n * 60_000).toISOString();

describe('runs that a rule ended', () => {
  let fresh: FreshDatabase;
  let database: Database;
  let owner: pg.Client;
  let stopped: StoppedRuns;

  beforeEach(async () => {
    fresh = await freshDatabase({ migrate });
    database = openDatabase({ url: fresh.url, role: 'run-tracking' });
    owner = new pg.Client({ connectionString: fresh.url });
    owner.on('error', () => undefined);
    await owner.connect();
    stopped = new StoppedRuns(database.pool);
  });
  afterEach(async () => {
    await owner.end();
    await database.close();
    await fresh.drop();
  });

  let events = 0;
  const record = (fields: Partial<AgentEvent>) => {
    const event = anEvent({ id: `e-${events++}`, agentId: 'a', ...fields });
    return new EventStore(database.pool).record(chunkOf([aBatch({ tenantId: 'acme', events: [event] })]));
  };
  const began = (runId: string) => record({ runId, kind: 'run.started', occurredAt: minute(0) });
  const ended = (runId: string, outcome: 'succeeded' | 'failed' | 'timed_out' = 'succeeded') =>
    record({ runId, kind: 'run.ended', outcome, occurredAt: minute(2) });
  const decide = (runId: string, effect: 'terminate' | 'block', id = `d-${runId}`) =>
    new DecisionStore(database.pool).record([
      aDecision({ ...{ id, runId, agentId: 'a', effect, decidedAt: minute(1) }, toolTags: ['egress'] }),
    ]);
  const statusOf = async (runId: string) => {
    const { rows } = await owner.query<{ status: string; ended_by: string | null }>(
      'select status, ended_by from runs where run_id = $1',
      [runId],
    );
    return [rows[0]?.status, rows[0]?.ended_by];
  };

  it('are interrupted in any order of their events and decisions', async () => {
    const steps = {
      begin: (runId: string) => began(runId),
      end: (runId: string) => ended(runId),
      decide: (runId: string) => decide(runId, 'terminate'),
      settle: () => stopped.settle(),
    };
    let runs = 0;
    const orders = fc.shuffledSubarray(Object.keys(steps) as (keyof typeof steps)[], { minLength: 4 });
    await fc.assert(
      fc.asyncProperty(orders, async (names) => {
        const runId = `run-${runs++}`;
        for (const name of names) await steps[name](runId);
        await stopped.settle();
        expect(await statusOf(runId)).toEqual(['interrupted', `d-${runId}`]);
      }),
      { numRuns: 24 },
    );
    const { rows } = await owner.query('select sum(run_succeeded_count)::int as succeeded from agent_daily');
    expect(rows).toEqual([{ succeeded: 0 }]);
  });

  it('keep another end that they report, and stay interrupted after later events', async () => {
    for (const runId of ['failed', 'late']) {
      await began(runId);
      await decide(runId, 'terminate');
    }
    await ended('failed', 'failed');
    await ended('late');
    await stopped.settle();
    await record({ runId: 'late', kind: 'llm.completed', occurredAt: minute(3) });
    expect(await statusOf('failed')).toEqual(['failed', 'd-failed']);
    expect(await statusOf('late')).toEqual(['interrupted', 'd-late']);
    expect(await stopped.settle()).toEqual([]);
  });

  it('are not those in which a call was only blocked', async () => {
    await began('goes-on');
    await decide('goes-on', 'block');
    await ended('goes-on');
    expect(await stopped.settle()).toEqual([]);
    expect(await statusOf('goes-on')).toEqual(['succeeded', null]);
  });

  it('keep the tags that came with their calls', async () => {
    await decide('tagged', 'block');
    const { rows } = await owner.query('select tool_tags from decisions');
    expect(rows).toEqual([{ tool_tags: ['egress'] }]);
  });
});
