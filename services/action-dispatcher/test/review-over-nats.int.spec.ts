import { alertChanged, breakerChanged, COMMANDS, directiveAcknowledged } from '@agentlens/contracts';
import { connectNatsBus, type EventBus } from '@agentlens/messaging';
import { eventually, startNats, type TestServer } from '@agentlens/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type Dispatching, dispatching, START } from './dispatching.ts';
import { granted, reviewing } from './reviewing.ts';

/** Checks the same guarantees when any replica may receive a command. */
describe('human review by two replicas over NATS', () => {
  let world: Dispatching;
  let nats: TestServer;
  const buses: EventBus[] = [];
  let review: ReturnType<typeof reviewing>;
  beforeAll(async () => {
    [world, nats] = await Promise.all([dispatching(), startNats()]);
    for (const name of ['one', 'two', 'asker']) buses.push(await connectNatsBus({ servers: nats.url, name }));
    const [one, two, asker] = buses;
    if (one === undefined || two === undefined || asker === undefined) throw new Error('a bus is missing');
    await world.start({ bus: one });
    await world.start({ bus: two });
    review = reviewing({ ...world, bus: asker });
  });
  afterAll(async () => {
    await world.stopAll();
    for (const bus of buses) await bus.close();
    await nats.stop();
    await world.close();
  });

  it('opens one approval for one call, accepts one decision and allows one call', async () => {
    const changes = await review.changes();
    const call = review.binding();
    const asked = await Promise.all(Array.from({ length: 8 }, () => review.resolve(call)));
    const [id] = new Set(asked.map((answer) => granted(answer).id));
    const verdicts = await Promise.all(
      (['approve', 'deny', 'approve', 'deny'] as const).map((verb, n) =>
        review.decide(id ?? '', verb, { by: `by-${n}` }),
      ),
    );
    const won = verdicts.filter(({ ok }) => ok).map(granted);
    expect(won).toHaveLength(1);
    const status = won[0]?.status;
    const after = await Promise.all(Array.from({ length: 4 }, () => review.resolve(call)));
    for (const answer of after) expect(granted(answer)).toMatchObject({ id, status });
    const versions = status === 'approved' ? [1, 2, 3] : [1, 2];
    await eventually(() => expect(changes.alerts.map(({ version }) => version)).toEqual(versions));
    expect((await review.alertsOf('acme')).filter(({ kind }) => kind === 'approval')).toHaveLength(1);
    await changes.close();
  });

  it('raises one alert per opened breaker and tenant, and publishes it as a CloudEvent', async () => {
    const [, , asker] = buses;
    const heads: Record<string, string>[] = [];
    const watch = await asker?.watch(alertChanged, {}, ({ headers, value }) => {
      if (value.kind === 'breaker') heads.push(headers);
    });
    const state = { kind: 'open', openedAt: START, reason: 'cost' } as const;
    const change = { scope: 'run', scopeId: 'run-1', agentId: 'agent-1', state, version: 1, at: START } as const;
    for (const tenantId of ['acme', 'beta', 'acme']) await asker?.publish(breakerChanged, { ...change, tenantId });
    await eventually(() => expect(heads).toHaveLength(2));
    expect(heads[0]).toMatchObject({ 'ce-type': 'dev.agentlens.alert.changed.v1', 'ce-subject': 'agent-1' });
    await watch?.close();
  });

  it('publishes orders and records their acknowledgements', async () => {
    const [, , asker] = buses;
    const orders = await Promise.all(
      Array.from({ length: 6 }, () => review.order({ scope: 'agent', scopeId: 'a.b c' })),
    );
    expect(new Set(orders.map((order) => granted(order).version))).toEqual(new Set([1, 2, 3, 4, 5, 6]));
    const { id: directiveId } = orders.map(granted).find(({ version }) => version === 6) ?? { id: '' };
    const ack = { tenantId: 'acme', directiveId, agentId: 'a.b c', acknowledgedAt: START };
    for (const instanceId of ['i-1', 'i-2', 'i-1']) await asker?.publish(directiveAcknowledged, { ...ack, instanceId });
    await eventually(async () =>
      expect(await world.db.selectFrom('control_acknowledgements').selectAll().execute()).toHaveLength(2),
    );
    expect(
      await asker?.request(COMMANDS.orderControl, { ...order('beta'), scope: 'tenant', scopeId: 'acme' }),
    ).toMatchObject({ ok: false });
  });
});

function order(tenantId: string) {
  return { tenantId, state: 'killed', reason: '', by: 'ann' } as const;
}
