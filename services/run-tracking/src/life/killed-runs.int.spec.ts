import type { AgentEvent } from '@agentlens/contracts';
import { type Database, migrate, openDatabase } from '@agentlens/database';
import { aBatch, anEvent, type FreshDatabase, freshDatabase } from '@agentlens/testing';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import pg from 'pg';
import { chunkOf, EventStore } from '../recording/event-store.ts';
import { KilledRuns } from './killed-runs.ts';

const BEFORE = '2026-03-01T12:00:00.000Z';
const KILLED = '2026-03-01T12:01:00.000Z';
const AFTER = '2026-03-01T12:02:00.000Z';
const SECONDS_AGO = () => new Date(Date.now() - 30_000).toISOString();

describe('killed runs', () => {
  let fresh: FreshDatabase;
  let database: Database;
  let owner: pg.Client;
  let killed: KilledRuns;

  beforeEach(async () => {
    fresh = await freshDatabase({ migrate });
    database = openDatabase({ url: fresh.url, role: 'run-tracking' });
    owner = new pg.Client({ connectionString: fresh.url });
    owner.on('error', () => undefined);
    await owner.connect();
    killed = new KilledRuns(database.pool);
  });
  afterEach(async () => {
    await owner.end();
    await database.close();
    await fresh.drop();
  });

  let events = 0;
  const record = (...fields: Partial<AgentEvent>[]) => {
    const made = fields.map((some) => anEvent({ id: `e-${events++}`, agentId: 'a', occurredAt: BEFORE, ...some }));
    return new EventStore(database.pool).record(chunkOf([aBatch({ tenantId: 'acme', events: made })]));
  };
  const began = (runId: string, more: Partial<AgentEvent> = {}) => record({ runId, kind: 'run.started', ...more });
  const ended = (runId: string, occurredAt = AFTER) =>
    record({ runId, kind: 'run.ended', outcome: 'succeeded', occurredAt });
  const order = (scope: string, id: string, state: string, issuedAt = SECONDS_AGO()) =>
    owner.query(
      `insert into control_orders (tenant_id, scope, scope_id, order_id, state, reason, ordered_by, version, issued_at)
       values ('acme', $1, $2, $2, $3, '', 'me', 1, $4)
       on conflict (tenant_id, scope, scope_id) do update set state = $3, issued_at = $4`,
      [scope, id, state, issuedAt],
    );
  const statuses = async () => {
    const { rows } = await owner.query<{ run_id: string; status: string }>(
      'select run_id, status from runs order by 1',
    );
    return Object.fromEntries(rows.map(({ run_id, status }) => [run_id, status]));
  };
  const days = async () => {
    const { rows } = await owner.query(
      `select sum(run_succeeded_count)::int as succeeded, sum(run_error_count)::int as failed from agent_daily`,
    );
    return rows[0];
  };

  it('end as killed, regardless of the reported end and of the order of events', async () => {
    const steps = {
      begin: (runId: string) => began(runId),
      end: (runId: string) => ended(runId),
      fail: (runId: string) =>
        record({ runId, kind: 'run.ended', outcome: 'failed', isError: true, occurredAt: AFTER }),
      kill: (runId: string) => order('run', runId, 'killed'),
      settle: () => killed.settle(),
    };
    let runs = 0;
    const orders = fc.shuffledSubarray(Object.keys(steps) as (keyof typeof steps)[], { minLength: 5 });
    await fc.assert(
      fc.asyncProperty(orders, async (names) => {
        const runId = `run-${runs++}`;
        for (const name of names) await steps[name](runId);
        await killed.settle();
        expect((await statuses())[runId]).toBe('killed');
      }),
      { numRuns: 40 },
    );
    // No run counts as succeeded, although all reported success. Each has an event that is an error.
    expect(await days()).toEqual({ succeeded: 0, failed: 40 });
  });

  it('include descendants, and no other run', async () => {
    await began('parent');
    await began('child', { parentRunId: 'parent' });
    await began('grandchild', { parentRunId: 'child' });
    await began('done', { parentRunId: 'parent' });
    await ended('done', BEFORE);
    await began('other');
    await order('run', 'parent', 'killed');
    const changed = await killed.settle();
    expect(await statuses()).toEqual({
      ...{ parent: 'killed', child: 'killed', grandchild: 'killed' },
      ...{ done: 'succeeded', other: 'running' },
    });
    expect(changed).toHaveLength(3);
    expect(await killed.settle()).toEqual([]);
    await began('late', { parentRunId: 'grandchild' });
    await killed.settle();
    expect(await statuses()).toMatchObject({ late: 'killed' });
  });

  it.each([
    ['agent', 'a', { mine: 'killed', over: 'succeeded', theirs: 'running' }],
    ['tenant', 'acme', { mine: 'killed', over: 'succeeded', theirs: 'killed' }],
  ])('of a killed %s are those that had not ended', async (scope, id, expected) => {
    await began('mine');
    await began('over');
    await ended('over');
    await began('theirs', { agentId: 'b' });
    await order(scope, id, 'killed');
    await killed.settle();
    expect(await statuses()).toEqual(expected);
    await began('later');
    await killed.settle();
    expect(await statuses()).toMatchObject({ later: 'killed' });
  });

  it('continue when their own order is lifted, unless they reported an end', async () => {
    for (const runId of ['goes-on', 'over']) {
      await began(runId);
      await order('run', runId, 'killed');
    }
    await killed.settle();
    await ended('over');
    for (const runId of ['goes-on', 'over']) await order('run', runId, 'running', new Date().toISOString());
    await killed.settle();
    expect(await statuses()).toEqual({ 'goes-on': 'running', over: 'killed' });
  });

  it('stay killed while another order kills them, even if their own order is lifted', async () => {
    await began('of-killed-agent', { agentId: 'b' });
    await began('parent');
    await began('child', { parentRunId: 'parent' });
    await order('agent', 'b', 'killed');
    await order('run', 'parent', 'killed');
    for (const runId of ['of-killed-agent', 'child']) await order('run', runId, 'running', new Date().toISOString());
    await killed.settle();
    expect(await killed.settle()).toEqual([]);
    expect(await statuses()).toEqual({ 'of-killed-agent': 'killed', parent: 'killed', child: 'killed' });
  });

  it('continue together with their descendants', async () => {
    await began('parent');
    await began('child', { parentRunId: 'parent' });
    await began('stopped', { parentRunId: 'child' });
    await began('below', { parentRunId: 'stopped' });
    await order('run', 'parent', 'killed');
    await order('run', 'stopped', 'killed');
    await killed.settle();
    await order('run', 'parent', 'running', new Date().toISOString());
    await killed.settle();
    expect(await statuses()).toEqual({ parent: 'running', child: 'running', stopped: 'killed', below: 'killed' });
    expect(await killed.settle()).toEqual([]);
  });

  it('do not include a run with the same id in another tenant', async () => {
    await new EventStore(database.pool).record(
      chunkOf([aBatch({ tenantId: 'globex', events: [anEvent({ id: 'g', runId: 'same', agentId: 'a' })] })]),
    );
    await order('run', 'same', 'killed', KILLED);
    await order('agent', 'a', 'killed');
    expect(await killed.settle()).toEqual([]);
  });
});
