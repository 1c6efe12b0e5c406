import { directiveAcknowledged, guardrailTriggered } from '@agentlens/contracts';
import { openDatabase } from '@agentlens/database';
import { aTrigger, eventually } from '@agentlens/testing';
import { beforeEach, describe, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import { type Dispatching, firedBy, START } from './dispatching.ts';
import { granted, type reviewing } from './reviewing.ts';
import { withReview } from './with-review.ts';

describe('control', () => {
  let world: Dispatching;
  let review: ReturnType<typeof reviewing>;
  withReview((its, reviewed) => {
    [world, review] = [its, reviewed];
  });
  beforeEach(async () => void (await world.start()));

  const rowOf = (scope: 'run' | 'agent' | 'tenant', scopeId: string) =>
    world.db
      .selectFrom('control_orders')
      .selectAll()
      .where('scope', '=', scope)
      .where('scope_id', '=', scopeId)
      .execute();

  it('keeps one current order per scope, published with its version', async () => {
    const changes = await review.changes();
    expect(granted(await review.order({ scopeId: 'one' }))).toMatchObject({
      tenantId: 'acme',
      scope: 'run',
      scopeId: 'one',
      state: 'killed',
      reason: 'enough',
      by: 'ann',
      version: 1,
      issuedAt: START,
    });
    expect(granted(await review.order({ scopeId: 'one', state: 'running' }))).toMatchObject({ version: 2 });
    expect(granted(await review.order({ scope: 'agent', scopeId: 'one' }))).toMatchObject({ version: 1 });
    expect(granted(await review.order({ scope: 'tenant', scopeId: 'acme' }))).toMatchObject({ version: 1 });
    expect(await rowOf('run', 'one')).toMatchObject([{ state: 'running', version: 2 }]);
    await eventually(() => expect(changes.orders.map(({ version }) => version)).toEqual([1, 2, 1, 1]));
    await changes.close();
  });

  it('accepts an order only for the expected version', async () => {
    await world.start();
    const changes = await review.changes();
    const firsts = await Promise.all([
      review.order({ scopeId: 'two', state: 'paused', ifVersion: 0 }),
      review.order({ scopeId: 'two', state: 'killed', ifVersion: 0 }),
    ]);
    expect(firsts.filter(({ ok }) => ok)).toHaveLength(1);
    const other = (currentVersion: number) => ({ ok: false, problem: { status: 412, currentVersion } });
    expect(firsts.find(({ ok }) => !ok)).toMatchObject(other(1));
    expect(granted(await review.order({ scopeId: 'two', state: 'running', ifVersion: 1 }))).toMatchObject({
      version: 2,
    });
    expect(await review.order({ scopeId: 'two', state: 'killed', ifVersion: 1 })).toMatchObject(other(2));
    expect(await review.order({ scopeId: 'three', ifVersion: 1 })).toMatchObject(other(0));
    expect(await rowOf('run', 'two')).toMatchObject([{ state: 'running', version: 2 }]);
    expect(await rowOf('run', 'three')).toEqual([]);
    await eventually(() => expect(changes.orders.map(({ version }) => version)).toEqual([1, 2]));
    await changes.close();
  });

  it('gives each of many concurrent orders its own version, in the order of publication', async () => {
    await world.start();
    await world.start();
    const changes = await review.changes();
    const states = ['killed', 'paused', 'running'] as const;
    const orders = await Promise.all(
      Array.from({ length: 15 }, (_, n) =>
        review.order({ scopeId: 'busy', state: states[n % 3] ?? 'killed', by: `b-${n}` }),
      ),
    );
    const versions = orders.map((order) => granted(order).version);
    expect(versions.sort((a, b) => a - b)).toEqual(Array.from({ length: 15 }, (_, n) => n + 1));
    await eventually(() => expect(changes.orders).toHaveLength(15));
    expect(changes.orders.map(({ version }) => version)).toEqual(Array.from({ length: 15 }, (_, n) => n + 1));
    const last = orders.map(granted).find(({ version }) => version === 15);
    expect(await rowOf('run', 'busy')).toMatchObject([{ version: 15, order_id: last?.id, state: last?.state }]);
    await changes.close();
  });

  it('cancels the pending approvals of a killed run, and nothing else', async () => {
    const asks = async (runId: string, callId: string) =>
      granted(await review.resolve(review.binding({ runId, callId }), { agentId: 'waiter' })).id;
    const [first, seen, decided, other] = [
      await asks('doomed', 'c1'),
      await asks('doomed', 'c2'),
      await asks('doomed', 'c3'),
      await asks('spared', 'c1'),
    ];
    await review.decide(seen, 'acknowledge');
    await review.decide(decided, 'approve');
    const changes = await review.changes();
    await review.order({ scopeId: 'doomed', state: 'paused' });
    const order = granted(await review.order({ scopeId: 'doomed', reason: 'out of hand', by: 'ops' }));
    const cancelled = () => changes.alerts.filter(({ status }) => status === 'cancelled');
    const why = { decidedBy: 'ops', reason: 'out of hand', decidedAt: order.issuedAt };
    // The two alerts are published in any order.
    const byId = (ids: readonly string[]) => new Map(ids.map((id) => [id, expect.objectContaining({ id, ...why })]));
    await eventually(() => expect(new Map(cancelled().map((one) => [one.id, one]))).toEqual(byId([first, seen])));
    const again = await review.resolve(review.binding({ runId: 'doomed', callId: 'c1' }), { agentId: 'waiter' });
    expect(granted(again)).toMatchObject({ id: first, status: 'cancelled' });
    const unharmed = await review.resolve(review.binding({ runId: 'spared', callId: 'c1' }), { agentId: 'waiter' });
    expect(granted(unharmed)).toMatchObject({ id: other, status: 'pending' });
    expect((await review.decide(first, 'approve')).ok).toBe(false);
    await review.order({ scope: 'agent', scopeId: 'waiter', reason: '' });
    await eventually(() => expect(cancelled().at(-1)).toMatchObject({ id: other, reason: 'The agent was killed' }));
    await changes.close();
  });

  it('cancels pending approvals in the descendants of a killed run, even if parents form a cycle', async () => {
    const parents = { root: 'leaf', child: 'root', leaf: 'child', beside: undefined };
    const tracker = openDatabase({ url: world.url, role: 'run-tracking', maxConnections: 1 });
    for (const [runId, parent] of Object.entries(parents)) {
      await sql`
        insert into runs (tenant_id, run_id, agent_id, parent_run_id, status, started_at, last_event_at, updated_at)
        values ('acme', ${runId}, 'agent-1', ${parent ?? null}, 'running', ${START}, ${START}, ${START})
      `.execute(tracker.db);
    }
    await tracker.close();
    const asks = async (runId: string) => granted(await review.resolve(review.binding({ runId }))).id;
    const [leaf, beside] = [await asks('leaf'), await asks('beside')];
    await review.order({ scopeId: 'root' });
    expect(await review.alert(leaf)).toMatchObject({ status: 'cancelled' });
    expect(await review.alert(beside)).toMatchObject({ status: 'pending' });
  });

  it('names the agent of the run if it is known', async () => {
    expect(granted(await review.order({ scopeId: 'owned', agentId: 'bot' }))).toMatchObject({ agentId: 'bot' });
    expect(granted(await review.order({ scopeId: 'unknown' }))).not.toHaveProperty('agentId');
    expect(await rowOf('run', 'owned')).toMatchObject([{ agent_id: 'bot' }]);
  });

  it('of one tenant does not affect another', async () => {
    granted(await review.order({ scopeId: 'shared' }));
    granted(await review.order({ scopeId: 'shared', tenantId: 'beta', state: 'paused' }));
    expect(new Map((await rowOf('run', 'shared')).map(({ tenant_id, state }) => [tenant_id, state]))).toEqual(
      new Map([
        ['acme', 'killed'],
        ['beta', 'paused'],
      ]),
    );
    expect(await review.order({ scope: 'tenant', scopeId: 'beta' })).toMatchObject({
      ok: false,
      problem: { status: 404 },
    });
  });

  it('ends only the pause by a rule when it resumes an agent', async () => {
    const rule = await world.rule({ actionType: 'pause_agent', cooldownMinutes: 0 });
    const trigger = aTrigger({ ...firedBy(rule), agentId: 'resumed' });
    await world.bus.publish(guardrailTriggered, trigger);
    await world.settled(trigger, 'success');
    const directive = () =>
      world.db.selectFrom('agent_directives').selectAll().where('agent_id', '=', 'resumed').executeTakeFirst();
    granted(await review.order({ scope: 'run', scopeId: 'resumed', state: 'running' }));
    granted(await review.order({ scope: 'agent', scopeId: 'resumed', state: 'paused' }));
    expect(await directive()).toMatchObject({ paused_at: START });
    granted(await review.order({ scope: 'agent', scopeId: 'resumed', state: 'running' }));
    expect(await directive()).toMatchObject({ paused_at: null });
    granted(await review.order({ scope: 'agent', scopeId: 'never-paused', state: 'running' }));
    const other = world.db.selectFrom('agent_directives').where('agent_id', '=', 'never-paused').selectAll();
    expect(await other.executeTakeFirst()).toBeUndefined();
  });

  it('records the acknowledgements of an order, once per instance with the earliest time', async () => {
    const ack = { tenantId: 'acme', directiveId: 'order-1', agentId: 'agent-1', acknowledgedAt: START };
    const earlier = '2026-03-01T11:59:59.900Z';
    await world.bus.publish(directiveAcknowledged, { ...ack, instanceId: 'i-1' });
    await world.bus.publish(directiveAcknowledged, { ...ack, instanceId: 'i-2' });
    await world.bus.publish(directiveAcknowledged, { ...ack, instanceId: 'i-1' });
    await world.bus.publish(directiveAcknowledged, {
      ...ack,
      tenantId: 'beta',
      instanceId: 'i-1',
      acknowledgedAt: earlier,
    });
    const rows = () =>
      world.db.selectFrom('control_acknowledgements').selectAll().orderBy('tenant_id').orderBy('instance_id').execute();
    await eventually(async () => expect(await rows()).toHaveLength(3));
    expect(await rows()).toMatchObject([
      { tenant_id: 'acme', instance_id: 'i-1', acknowledged_at: START },
      { tenant_id: 'acme', instance_id: 'i-2' },
      { tenant_id: 'beta', instance_id: 'i-1', acknowledged_at: earlier },
    ]);
  });

  it('moves an acknowledgement that cannot be stored to the dead letters', async () => {
    const ack = {
      tenantId: 'acme',
      directiveId: 'a\u0000b',
      agentId: 'agent-1',
      instanceId: 'i',
      acknowledgedAt: START,
    };
    await world.bus.publish(directiveAcknowledged, ack);
    await eventually(async () => expect(await world.bus.deadLetters('action-dispatcher-acks')).toHaveLength(1));
  });
});
