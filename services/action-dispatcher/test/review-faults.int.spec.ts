import { type BreakerChanged, breakerChanged } from '@agentlens/contracts';
import { openDatabase } from '@agentlens/database';
import { eventually, tcpProxy } from '@agentlens/testing';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { type Dispatching, START } from './dispatching.ts';
import { granted, type reviewing } from './reviewing.ts';
import { withReview } from './with-review.ts';

describe('human review while Postgres is unavailable', () => {
  let world: Dispatching;
  let review: ReturnType<typeof reviewing>;
  let proxy: Awaited<ReturnType<typeof tcpProxy>>;
  let database: ReturnType<typeof openDatabase>;
  let dispatcher: { stop(): Promise<void> };
  withReview((its, reviewed) => {
    [world, review] = [its, reviewed];
  });
  beforeEach(async () => {
    proxy = await tcpProxy(world.url);
    database = openDatabase({ url: proxy.url, role: 'action-dispatcher' });
    dispatcher = await world.start({ database });
  });
  afterEach(async () => {
    await dispatcher.stop();
    await database.close();
    await proxy.close();
  });

  it('rejects commands that it cannot store, and accepts them when the database is back', async () => {
    const call = review.binding();
    const { id } = granted(await review.resolve(call));
    await proxy.close();
    const away = { ok: false, problem: { status: 503 } };
    expect(await review.decide(id, 'approve')).toMatchObject(away);
    expect(await review.resolve(call)).toMatchObject(away);
    expect(await review.order()).toMatchObject(away);
    expect(await review.raise()).toMatchObject(away);

    await world.start();
    expect(await review.alert(id)).toMatchObject({ status: 'pending', version: 1 });
    await dispatcher.stop();
    granted(await review.decide(id, 'approve'));
    expect(granted(await review.resolve(call))).toMatchObject({ id, status: 'approved', usedAt: START });
    await world.stopAll();
  });

  it('keeps messages of the bus until they can be stored', async () => {
    const change: BreakerChanged = {
      tenantId: 'later',
      scope: 'run',
      scopeId: 'run-1',
      agentId: 'agent-1',
      state: { kind: 'open', openedAt: START, reason: 'cost' },
      version: 1,
      at: START,
    };
    await proxy.close();
    const published = world.bus.publish(breakerChanged, change);
    await dispatcher.stop();
    await world.start();
    await published;
    await eventually(async () => expect(await review.alertsOf('later')).toHaveLength(1));
    await world.stopAll();
  });
});
