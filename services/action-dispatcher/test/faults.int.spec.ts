import { guardrailTriggered, type Trigger } from '@agentlens/contracts';
import { openDatabase } from '@agentlens/database';
import { aTrigger, eventually, type RecordingServer, recordingServer, tcpProxy } from '@agentlens/testing';
import { describe, expect, it } from '@jest/globals';
import { type Dispatching, firedBy } from './dispatching.ts';
import { withReceiver } from './with-receiver.ts';

const LEASE_MS = 30_000;

describe('recovery from faults', () => {
  let world: Dispatching;
  let receiver: RecordingServer;
  withReceiver((its, receiving) => {
    [world, receiver] = [its, receiving];
  });

  async function queue(url: string): Promise<Trigger> {
    const rule = await world.rule({ actionType: 'notify_webhook', actionConfig: { url }, cooldownMinutes: 0 });
    const trigger = aTrigger(firedBy(rule));
    await world.recorder().record(trigger);
    return trigger;
  }
  const receiptsOf = (id: string) => receiver.requests.filter(({ headers }) => headers['webhook-id'] === id).length;

  it('a crash between sending and recording sends the same webhook id again and records one effect', async () => {
    const trigger = await queue(`${receiver.url}/hook`);
    const proxy = await tcpProxy(world.url);
    const database = openDatabase({ url: proxy.url, role: 'action-dispatcher' });
    const cut = Promise.withResolvers<void>();
    receiver.answer((_request, response) => {
      // The receiver has the request, and the sender can no longer record it.
      void proxy.close().then(() => {
        response.writeHead(200).end();
        cut.resolve();
      });
      receiver.answer((_again, next) => next.writeHead(200).end());
    });
    const doomed = await world.start({ database });
    await cut.promise;
    await doomed.stop();
    await database.close();
    expect(await world.delivery(trigger)).toMatchObject({ result: 'pending', attempts: 0 });

    await world.start();
    world.clock.advance(LEASE_MS + 1);
    await world.settled(trigger, 'success');

    const { delivery_id } = await world.delivery(trigger);
    expect(receiptsOf(delivery_id)).toBe(2);
    expect(receiver.requests).toHaveLength(2);
    expect(await world.attempts(trigger)).toHaveLength(1);
    const facts = await world.db.selectFrom('deliveries').selectAll().where('trigger_id', '=', trigger.id).execute();
    expect(facts).toHaveLength(1);
  });

  it('replicas share the work: each delivery is sent by one of them', async () => {
    const triggers: Trigger[] = [];
    for (let n = 0; n < 40; n++) triggers.push(await queue(`${receiver.url}/hook-${n % 10}`));
    await Promise.all([world.start(), world.start(), world.start()]);
    for (const trigger of triggers) await world.settled(trigger, 'success');
    expect(receiver.requests).toHaveLength(40);
    expect(new Set(receiver.requests.map(({ headers }) => headers['webhook-id'])).size).toBe(40);
  });

  it('the result of an attempt whose lease was lost is ignored', async () => {
    const trigger = await queue(`${receiver.url}/hook`);
    const moved = { lease_id: 'somebody-else', lease_until: new Date(world.clock.now() + LEASE_MS).toISOString() };
    receiver.answer((_request, response) => {
      void world.db
        .updateTable('deliveries')
        .set(moved)
        .where('trigger_id', '=', trigger.id)
        .execute()
        .then(() => response.writeHead(200).end());
    });
    const dispatcher = await world.start();
    await eventually(() => expect(receiver.requests).toHaveLength(1));
    await dispatcher.stop();
    expect(await world.delivery(trigger)).toMatchObject({ ...moved, result: 'pending', attempts: 0 });
    expect(await world.attempts(trigger)).toEqual([]);
  });

  it('a hanging receiver does not delay others', async () => {
    const hanging = await recordingServer();
    hanging.answer(() => undefined);
    const stuck: Trigger[] = [];
    for (let n = 0; n < 40; n++) stuck.push(await queue(`${hanging.url}/hang`));
    const quick: Trigger[] = [];
    for (let n = 0; n < 20; n++) quick.push(await queue(`${receiver.url}/quick-${n}`));
    const dispatcher = await world.start();

    for (const trigger of quick) await world.settled(trigger, 'success');
    expect(hanging.requests.length).toBeLessThanOrEqual(4);

    const stopped = dispatcher.stop();
    await hanging.close();
    await stopped;
    const results = await Promise.all(stuck.map(async (trigger) => (await world.delivery(trigger)).result));
    expect(results.filter((result) => result === 'retrying')).toHaveLength(hanging.requests.length);
  });

  it('a hanging receiver is aborted at the deadline and retried later', async () => {
    receiver.answer(() => undefined);
    const trigger = await queue(`${receiver.url}/hang`);
    await world.start({ timings: { deadlineMs: 200 } });
    const row = await world.settled(trigger, 'retrying');
    expect(row.action_detail).toBe('the attempt could not be completed');
  });

  it('deliveries to an unavailable destination wait without using up attempts', async () => {
    const gone = await recordingServer();
    await gone.close();
    const failing: Trigger[] = [];
    for (let n = 0; n < 5; n++) failing.push(await queue(`${gone.url}/down`));
    await world.start();
    for (const trigger of failing) {
      expect(await world.settled(trigger, 'retrying')).toMatchObject({ action_detail: 'connection refused' });
    }

    const waiting = await queue(`${gone.url}/down`);
    const deferred = await eventually(async () => {
      const delivery = await world.delivery(waiting);
      expect(delivery.detail).toMatch(/is unavailable/);
      return delivery;
    });
    expect(deferred).toMatchObject({ attempts: 0, result: 'pending', lease_id: null });
    expect(Date.parse(deferred.next_attempt_at ?? '')).toBeGreaterThan(world.clock.now());
    expect(await world.attempts(waiting)).toEqual([]);
    const healthy = await queue(`${receiver.url}/up`);
    await world.settled(healthy, 'success');

    const crowd: Trigger[] = [];
    for (let n = 0; n < 30; n++) crowd.push(await queue(`${gone.url}/down`));
    await eventually(async () => {
      const all = await Promise.all(crowd.map((trigger) => world.delivery(trigger)));
      expect(new Set(all.map(({ next_attempt_at }) => next_attempt_at))).toEqual(new Set([deferred.next_attempt_at]));
      expect(all.every(({ attempts, lease_id }) => attempts === 0 && lease_id === null)).toBe(true);
    });
  });

  it('a slow webhook does not delay a pause', async () => {
    const silent = await recordingServer();
    silent.answer(() => undefined);
    for (let n = 0; n < 40; n++) await queue(`${silent.url}/slow-${n}`);
    await world.start();
    await eventually(() => expect(silent.requests.length).toBeGreaterThanOrEqual(24));
    const rule = await world.rule({ actionType: 'pause_agent', actionConfig: {} });
    const trigger = aTrigger(firedBy(rule));
    await world.bus.publish(guardrailTriggered, trigger);
    await world.settled(trigger, 'success');
    await silent.close();
  });

  it('shutdown finishes running attempts and starts no more', async () => {
    const held = Promise.withResolvers<void>();
    receiver.answer((_request, response) => {
      void held.promise.then(() => response.writeHead(200).end());
    });
    const trigger = await queue(`${receiver.url}/held`);
    const dispatcher = await world.start();
    await eventually(() => expect(receiver.requests).toHaveLength(1));

    const stopped = dispatcher.stop();
    const late = await queue(`${receiver.url}/late`);
    held.resolve();
    await stopped;

    expect(await world.history(trigger)).toMatchObject({ action_result: 'success' });
    expect(await world.delivery(late)).toMatchObject({ result: 'pending', attempts: 0, lease_id: null });
    const left = await world.db.selectFrom('outbox').selectAll().execute();
    expect(left).toEqual([]);
  });
});
