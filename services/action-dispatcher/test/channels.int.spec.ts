import { ChannelDraft, COMMANDS, RoutingDocument, SilenceDraft } from '@agentlens/contracts';
import { eventually, type RecordedRequest, type RecordingServer } from '@agentlens/testing';
import { describe, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import { type Dispatching, START } from './dispatching.ts';
import { granted, reviewing } from './reviewing.ts';
import { withReceiver } from './with-receiver.ts';

const at = (seconds: number) => new Date(Date.parse(START) + seconds * 1_000).toISOString();

describe('channels and routes', () => {
  let world: Dispatching;
  let receiver: RecordingServer;
  let review: ReturnType<typeof reviewing>;
  let tenantId = '';
  let tenants = 0;
  withReceiver((its, receiving) => {
    [world, receiver, review] = [its, receiving, reviewing(its)];
    tenantId = `notified-${tenants++}`;
  });

  const channel = async (channelId: string, config: object, fields: object = {}) =>
    granted(
      await world.bus.request(COMMANDS.setChannel, {
        ...{ tenantId, channelId, draft: ChannelDraft.parse({ config, ...fields }) },
      }),
    );
  const hook = (path = 'ops') => ({ kind: 'webhook', url: `${receiver.url}/${path}` });
  const setRoutes = (document: object) =>
    world.bus.request(COMMANDS.setRoutes, { tenantId, document: RoutingDocument.parse(document), by: 'ann' });
  const route = (fields: object = {}) => ({
    id: 'all',
    channels: ['ops'],
    groupBy: ['agent'],
    groupInterval: '60s',
    ...fields,
  });
  const silence = async (fields: object) =>
    granted(
      await world.bus.request(COMMANDS.createSilence, {
        ...{ tenantId, by: 'ben', draft: SilenceDraft.parse({ comment: 'deploy', endsAt: at(3_600), ...fields }) },
      }),
    );
  const raise = async (fields: object = {}) => granted(await review.raise({ tenantId, ...fields }));
  const decide = async (id: string, verb: 'acknowledge' | 'cancel' = 'cancel') =>
    granted(await review.decide(id, verb, { tenantId }));
  /** Waits until the deliveries are settled, too: a clock that is moved meanwhile would end their leases. */
  const received = (count: number): Promise<readonly RecordedRequest[]> =>
    eventually(async () => {
      if (receiver.requests.length < count) throw new Error(`only ${receiver.requests.length} requests`);
      const open = await world.db
        .selectFrom('deliveries')
        .select('delivery_id')
        .where('tenant_id', '=', tenantId)
        .where('settled_at', 'is', null)
        .execute();
      if (open.length > 0) throw new Error('not settled');
      return receiver.requests;
    });
  const data = (request: RecordedRequest | undefined) => JSON.parse(request?.body ?? 'null').data;
  const ids = (alerts: readonly { id: string }[]) => alerts.map(({ id }) => id);
  const notices = () =>
    world.db.selectFrom('notices').selectAll().where('tenant_id', '=', tenantId).orderBy('at').execute();

  it('send one notice for a group after its wait, then what is new, then the end', async () => {
    await world.start();
    await channel('ops', hook());
    granted(await setRoutes({ routes: [route()] }));
    const first = await raise();
    const second = await raise({ runId: 'run-2' });
    world.clock.set(at(30));
    const [one] = await received(1);
    expect(data(one)).toMatchObject({ reason: 'first', route: 'all', channel: 'ops', group: { agent: 'agent-1' } });
    expect(ids(data(one).firing).sort()).toEqual([first.id, second.id].sort());
    const third = await raise({ runId: 'run-3' });
    world.clock.set(at(91));
    const two = (await received(2))[1];
    expect(data(two)).toMatchObject({ reason: 'new', resolved: [] });
    expect(ids(data(two).firing)).toContain(third.id);
    for (const { id } of [first, second, third]) await decide(id);
    world.clock.set(at(152));
    const three = (await received(3))[2];
    expect(data(three)).toMatchObject({ reason: 'resolved', firing: [] });
    expect(ids(data(three).resolved).sort()).toEqual([first.id, second.id, third.id].sort());
    expect(await world.db.selectFrom('notice_groups').selectAll().where('tenant_id', '=', tenantId).execute()).toEqual(
      [],
    );
  });

  it('take what is unlike before by its kind, and show its end', async () => {
    await world.start();
    await channel('ops', hook());
    const changes = { id: 'changes', under: 'all', match: ['kind=change'], channels: ['ops'], groupWait: '0s' };
    granted(await setRoutes({ routes: [route({ channels: [] }), changes] }));
    const report = async (...reported: readonly { about: string }[]) =>
      granted(
        await world.bus.request(COMMANDS.reportChanges, {
          tenantId,
          asOf: new Date(world.clock.now()).toISOString(),
          changes: reported.map(({ about }) => ({
            about,
            at: START,
            agentId: 'all-agents',
            severity: 'error' as const,
            title: 'Spend is 15 times the usual',
            message: '$15.00 in the last hour',
          })),
        }),
      );
    await raise();
    await report({ about: 'spend' });
    const [one] = await received(1);
    expect(data(one)).toMatchObject({ reason: 'first', route: 'changes', firing: [{ kind: 'change' }] });
    world.clock.set(at(400));
    expect(await report()).toEqual({ ended: 1 });
    const two = (await received(2))[1];
    expect(data(two)).toMatchObject({ reason: 'resolved', firing: [], resolved: [{ kind: 'change' }] });
  });

  const storeRoutes = (version: number, body: unknown) =>
    world.db
      .insertInto('routing_documents')
      .values({ tenant_id: tenantId, version, body: JSON.stringify(body), saved_by: null, saved_at: START })
      .execute();

  it('reach the default channels when the routes cannot be read, and open groups stay where they are', async () => {
    await world.start();
    await channel('ops', hook());
    await channel('pager', hook('pager'));
    await channel('off', hook('off'), { enabled: false });
    granted(await setRoutes({ routes: [route({ channels: ['pager'], groupWait: '0s' })] }));
    const shown = await raise();
    await received(1);
    await storeRoutes(2, { routes: [{ id: 'all', channels: ['ops'], ofALaterRelease: true }] });
    const next = await raise({ agentId: 'agent-2' });
    await decide(shown.id);
    world.clock.set(at(61));
    const sent = (await received(3)).slice(1);
    const told = sent.map((request) => [request.path, [data(request).reason, ids(data(request).firing)]]);
    expect(Object.fromEntries(told)).toEqual({ '/ops': ['first', [next.id]], '/pager': ['resolved', []] });
    expect(world.logged()).toContain('the routes of a tenant cannot be read in full');
  });

  it('raise alerts and ask for approvals while the routes cannot be read, in every channel', async () => {
    await world.start();
    await channel('ops', hook());
    await channel('pager', hook('pager'));
    await storeRoutes(1, 'no routes');
    const approval = granted(await review.resolve(review.binding({ runId: `run-${tenantId}` }), { tenantId }));
    const asked = await received(2);
    expect(asked.map(({ path }) => path).sort()).toEqual(['/ops', '/pager']);
    expect(ids(data(asked[0]).firing)).toEqual([approval.id]);
    const refused = await world.bus.request(COMMANDS.deleteChannel, { tenantId, channelId: 'ops' });
    expect(refused).toMatchObject({ ok: false, problem: { status: 409 } });
  });

  it('stay loud when a stored silence can no longer be read', async () => {
    await world.start();
    await channel('ops', hook());
    granted(await setRoutes({ routes: [route({ groupWait: '0s' })] }));
    const { id } = await silence({ matchers: ['agent=agent-1'] });
    const matchers = JSON.stringify(['agent=agent-1', 'region=eu']);
    await world.db.updateTable('silences').set({ matchers }).where('silence_id', '=', id).execute();
    const alert = await raise();
    const [one] = await received(1);
    expect(ids(data(one).firing)).toEqual([alert.id]);
  });

  it('send nothing about a silenced alert, and the end of one that was shown before', async () => {
    await world.start();
    await channel('ops', hook());
    granted(await setRoutes({ routes: [route({ groupWait: '0s', repeat: '60s' })] }));
    const shown = await raise({ severity: 'error' });
    await received(1);
    await silence({ matchers: ['agent=agent-1'] });
    const hidden = await raise({ runId: 'run-2' });
    world.clock.set(at(600));
    await decide(shown.id);
    const [, end] = await received(2);
    expect(data(end)).toMatchObject({ reason: 'resolved', firing: [], resolved: [{ id: shown.id }] });
    expect(JSON.stringify(receiver.requests)).not.toContain(hidden.id);
    world.clock.set(at(3_700));
    const third = (await received(3))[2];
    expect(ids(data(third).firing)).toEqual([hidden.id]);
  });

  it('send an approval at once, past silences and groups, and its outcome', async () => {
    await world.start();
    await channel('ops', hook());
    granted(await setRoutes({ routes: [route({ groupWait: '5m' })] }));
    await silence({ matchers: ['kind=approval'] });
    const approval = granted(await review.resolve(review.binding({ runId: `run-${tenantId}` }), { tenantId }));
    const [asked] = await received(1);
    expect(data(asked)).toMatchObject({ reason: 'approval', firing: [{ id: approval.id }] });
    granted(await review.decide(approval.id, 'deny', { tenantId }));
    const [, outcome] = await received(2);
    expect(data(outcome)).toMatchObject({ reason: 'changed', resolved: [{ id: approval.id, status: 'denied' }] });
  });

  it('open and close one incident at PagerDuty for each alert, in order', async () => {
    await world.start();
    await channel('ops', { kind: 'pagerduty', routingKey: 'a'.repeat(32), url: receiver.url });
    granted(await setRoutes({ routes: [route({ groupWait: '0s' })] }));
    const alert = await raise({ title: 'x'.repeat(200), severity: 'warn' });
    const [opened] = await received(1);
    expect(JSON.parse(opened?.body ?? '')).toMatchObject({
      ...{ event_action: 'trigger', dedup_key: `agentlens:${tenantId}:${alert.id}`, payload: { severity: 'warning' } },
    });
    await decide(alert.id);
    world.clock.set(at(61));
    const [, closed] = await received(2);
    expect(JSON.parse(closed?.body ?? '')).toMatchObject({
      event_action: 'resolve',
      dedup_key: `agentlens:${tenantId}:${alert.id}`,
    });
  });

  it('close the incident of an alert that was deleted with its run', async () => {
    await world.start();
    await channel('ops', { kind: 'pagerduty', routingKey: 'a'.repeat(32), url: receiver.url });
    granted(await setRoutes({ routes: [route({ groupWait: '0s' })] }));
    const alert = await raise({ runId: `deleted-${tenantId}` });
    await received(1);
    granted(await world.bus.request(COMMANDS.deleteRunActions, { tenantId, runIds: [`deleted-${tenantId}`] }));
    world.clock.set(at(61));
    const [, closed] = await received(2);
    expect(JSON.parse(closed?.body ?? '')).toEqual({
      routing_key: 'a'.repeat(32),
      event_action: 'resolve',
      dedup_key: `agentlens:${tenantId}:${alert.id}`,
    });
  });

  it('send a receiver that comes back the newest state of a group, not every step to it', async () => {
    let isDown = true;
    receiver.answer((_request, response) => response.writeHead(isDown ? 503 : 200).end());
    await world.start();
    await channel('ops', hook());
    granted(await setRoutes({ routes: [route({ groupWait: '0s' })] }));
    const queued = (count: number) => eventually(async () => expect(await notices()).toHaveLength(count));
    const first = await raise();
    await queued(1);
    const second = await raise({ runId: 'run-2' });
    world.clock.set(at(61));
    await queued(2);
    await decide(first.id);
    world.clock.set(at(122));
    await queued(3);
    const third = await raise({ runId: 'run-3' });
    world.clock.set(at(183));
    await queued(4);
    isDown = false;
    const results = async () => {
      const rows = await world.db
        .selectFrom('deliveries')
        .select('result')
        .where('tenant_id', '=', tenantId)
        .orderBy('order_n')
        .execute();
      return rows.map(({ result }) => result);
    };
    for (
      let minute = 4;
      (await results()).some((one) => one === 'retrying' || one === 'pending') && minute < 60;
      minute++
    ) {
      world.clock.set(at(minute * 60));
      await eventually(async () => {
        const { rows } = await sql<{ due: string }>`
          select count(*) as due from deliveries where tenant_id = ${tenantId} and next_attempt_at <= ${at(minute * 60)}::timestamptz
        `.execute(world.db);
        expect(Number(rows[0]?.due)).toBe(0);
      });
    }
    expect(await results()).toEqual(['success', 'superseded', 'superseded', 'success']);
    const accepted = receiver.requests.slice(-2).map(data);
    expect(accepted[0]).toMatchObject({ reason: 'first' });
    expect(accepted[1]).toMatchObject({ reason: 'new', resolved: [{ id: first.id }] });
    expect(ids(accepted[1].firing).sort()).toEqual([second.id, third.id].sort());
  });

  it('tell a channel that an open approval was deleted with its run', async () => {
    await world.start();
    await channel('ops', hook());
    granted(await setRoutes({ routes: [route()] }));
    const runId = `run-${tenantId}`;
    const approval = granted(await review.resolve(review.binding({ runId }), { tenantId }));
    await received(1);
    granted(await world.bus.request(COMMANDS.deleteRunActions, { tenantId, runIds: [runId] }));
    const [, outcome] = await received(2);
    expect(data(outcome)).toMatchObject({ reason: 'changed', firing: [], resolved: [], deleted: [approval.id] });
  });

  it('give a notice to the fallback when the channel refuses it', async () => {
    await world.start();
    receiver.answer(({ path }, response) => response.writeHead(path === '/ops' ? 400 : 200).end());
    await channel('spare', hook('spare'));
    await channel('ops', hook(), { fallback: 'spare' });
    granted(await setRoutes({ routes: [route({ groupWait: '0s' })] }));
    await raise();
    const [, fallen] = await received(2);
    expect(fallen?.path).toBe('/spare');
    expect(data(fallen)).toMatchObject({ reason: 'fallback', channel: 'spare' });
    expect((await notices()).map(({ reason, fell_back }) => [reason, fell_back])).toEqual([
      ['first', true],
      ['fallback', false],
    ]);
  });

  it('escalate an approval before it expires, once', async () => {
    await world.start();
    await channel('ops', hook());
    await channel('boss', hook('boss'));
    granted(await setRoutes({ routes: [route({ escalate: [{ beforeExpiry: '5m', channels: ['boss'] }] })] }));
    granted(await review.resolve(review.binding({ runId: `run-${tenantId}` }), { tenantId }));
    await received(1);
    world.clock.set(at(600));
    const [, step] = await received(2);
    expect(step?.path).toBe('/boss');
    expect(data(step)).toMatchObject({ reason: 'escalation', channel: 'boss' });
    expect(await world.db.selectFrom('approval_steps').selectAll().where('tenant_id', '=', tenantId).execute()).toEqual(
      [],
    );
  });

  it('move what is open when the routes change: the old receiver gets the end, the new one the beginning', async () => {
    await world.start();
    await channel('ops', hook());
    await channel('next', hook('next'));
    granted(await setRoutes({ routes: [route({ groupWait: '0s' })] }));
    const alert = await raise();
    await received(1);
    granted(await setRoutes({ routes: [route({ groupWait: '0s', channels: ['next'] })] }));
    const both = await received(3);
    const told = both.slice(1).map((request) => [request.path, data(request).reason] as const);
    expect(new Map(told)).toEqual(
      new Map([
        ['/next', 'first'],
        ['/ops', 'rerouted'],
      ]),
    );
    expect(data(both.find(({ path, body }) => path === '/ops' && body.includes('rerouted'))).resolved).toMatchObject([
      { id: alert.id },
    ]);
  });

  it('keep a channel until its receiver knows the end of what it shows', async () => {
    await world.start();
    await channel('ops', { kind: 'pagerduty', routingKey: 'a'.repeat(32), url: receiver.url });
    await channel('next', hook('next'));
    granted(await setRoutes({ routes: [route({ groupWait: '0s' })] }));
    await raise();
    await received(1);
    receiver.answer(({ path }, response) => response.writeHead(path === '/next' ? 200 : 503).end());
    granted(await setRoutes({ routes: [route({ groupWait: '0s', channels: ['next'] })] }));
    const changed = ChannelDraft.parse({
      config: { kind: 'pagerduty', routingKey: 'b'.repeat(32), url: receiver.url },
    });
    const change = world.bus.request(COMMANDS.setChannel, { tenantId, channelId: 'ops', draft: changed });
    expect(await change).toMatchObject({ ok: false, problem: { status: 409 } });
    const remove = () => world.bus.request(COMMANDS.deleteChannel, { tenantId, channelId: 'ops' });
    expect(await remove()).toMatchObject({
      ok: false,
      problem: { status: 409, error: expect.stringContaining('open') },
    });
    receiver.answer((_request, response) => response.writeHead(202).end('{"status":"success"}'));
    await eventually(async () => {
      world.clock.advance(60_000);
      expect(await remove()).toMatchObject({ ok: true });
    });
    expect(receiver.requests.some(({ body }) => body.includes('"event_action":"resolve"'))).toBe(true);
  });

  it('test a channel through the queue and say what the receiver answered', async () => {
    await world.start();
    receiver.answer((_request, response) => response.writeHead(404).end('no such flow'));
    await channel('ops', { kind: 'teams', url: `${receiver.url}/flow` });
    const { deliveryIds } = granted(await world.bus.request(COMMANDS.testChannel, { tenantId, channelId: 'ops' }));
    const [row] = await eventually(async () => {
      const rows = await world.db
        .selectFrom('deliveries')
        .selectAll()
        .where('delivery_id', 'in', deliveryIds)
        .execute();
      if (rows.some(({ settled_at }) => settled_at === null)) throw new Error('not settled');
      return rows;
    });
    expect(row).toMatchObject({ result: 'failed', detail: 'HTTP 404: no such flow' });
  });

  it('lose what they said about a run that is erased, and keep that they said it', async () => {
    await world.start();
    await channel('ops', hook());
    granted(await setRoutes({ routes: [route({ groupWait: '0s' })] }));
    const alert = await raise({ runId: `erased-${tenantId}`, message: 'the secret plan' });
    await received(1);
    const attempts = () =>
      world.db.selectFrom('delivery_attempts').selectAll().where('tenant_id', '=', tenantId).execute();
    expect(JSON.stringify(await attempts())).toContain('the secret plan');
    granted(await world.bus.request(COMMANDS.eraseRunActions, { tenantId, runIds: [`erased-${tenantId}`] }));
    expect(await attempts()).toMatchObject([{ exchange: null, detail: null }]);
    const said = world.db.selectFrom('notice_alerts').select('state').where('alert_id', '=', alert.id);
    expect(await said.execute()).toEqual([{ state: 'firing' }]);
  });

  it('keep secrets sealed, and refuse what would break', async () => {
    await world.start();
    const draft = await channel('ops', hook('secret-path'));
    expect(draft).toMatchObject({ target: `${receiver.url}/…`, version: 1 });
    const stored = await world.db
      .selectFrom('channels')
      .select('config')
      .where('tenant_id', '=', tenantId)
      .executeTakeFirstOrThrow();
    expect(JSON.stringify(stored)).not.toContain('secret-path');
    granted(await setRoutes({ routes: [route()] }));
    const refused = await Promise.all([
      world.bus.request(COMMANDS.deleteChannel, { tenantId, channelId: 'ops' }),
      world.bus.request(COMMANDS.deleteChannel, { tenantId, channelId: 'nothing' }),
      world.bus.request(COMMANDS.setChannel, {
        tenantId,
        channelId: 'ops',
        draft: ChannelDraft.parse({ fallback: 'ops' }),
      }),
      world.bus.request(COMMANDS.setChannel, {
        tenantId,
        channelId: 'bad',
        draft: ChannelDraft.parse({ config: { kind: 'teams', url: 'http://10.0.0.1/x' } }),
      }),
      setRoutes({ routes: [route({ channels: ['nowhere'] })] }),
      world.bus.request(COMMANDS.createSilence, {
        tenantId,
        by: 'b',
        draft: SilenceDraft.parse({ matchers: ['agent=~.*'], comment: 'x', endsAt: at(60) }),
      }),
      world.bus.request(COMMANDS.createSilence, {
        tenantId,
        by: 'b',
        draft: SilenceDraft.parse({ matchers: ['agent=a'], comment: 'x', endsAt: at(-60) }),
      }),
      world.bus.request(COMMANDS.createSilence, {
        tenantId,
        by: 'b',
        draft: SilenceDraft.parse({ matchers: ['agent=a'], comment: 'x', endsAt: at(91 * 86_400) }),
      }),
      world.bus.request(COMMANDS.createSilence, {
        tenantId,
        by: 'b',
        draft: SilenceDraft.parse({ matchers: ['tenant=a'], comment: 'x', endsAt: at(60) }),
      }),
    ]);
    expect(refused.map((answer) => (answer.ok ? 'granted' : answer.problem.status))).toEqual([
      409, 404, 400, 400, 422, 422, 422, 422, 422,
    ]);
  });
});
