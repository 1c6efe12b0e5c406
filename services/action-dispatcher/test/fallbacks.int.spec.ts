import { ChannelDraft, COMMANDS, RoutingDocument } from '@agentlens/contracts';
import { eventually, type RecordedRequest, type RecordingServer } from '@agentlens/testing';
import { beforeEach, describe, expect, it } from '@jest/globals';
import { type Dispatching, START } from './dispatching.ts';
import { granted, reviewing } from './reviewing.ts';
import { withReceiver } from './with-receiver.ts';

const at = (seconds: number) => new Date(Date.parse(START) + seconds * 1_000).toISOString();

describe('the fallback of a channel', () => {
  let world: Dispatching;
  let receiver: RecordingServer;
  let review: ReturnType<typeof reviewing>;
  let tenantId = '';
  let tenants = 0;
  /** Paths of receivers that refuse everything. */
  const refusing = new Set<string>();
  withReceiver((its, receiving) => {
    [world, receiver, review] = [its, receiving, reviewing(its)];
    tenantId = `fallen-${tenants++}`;
  });

  beforeEach(async () => {
    refusing.clear();
    let posted = 0;
    receiver.answer(({ path }, response) => {
      const name = path.split('/')[1] ?? '';
      posted += 1;
      response.writeHead(refusing.has(name) ? 400 : 200).end(JSON.stringify({ ok: true, ts: `17.${posted}` }));
    });
    await world.start();
  });

  const channel = async (channelId: string, config: object, fields: object = {}) =>
    granted(
      await world.bus.request(COMMANDS.setChannel, {
        ...{ tenantId, channelId, draft: ChannelDraft.parse({ config, ...fields }) },
      }),
    );
  const hook = (channelId: string, fields: object = {}) =>
    channel(channelId, { kind: 'webhook', url: `${receiver.url}/${channelId}` }, fields);
  const pager = (channelId: string) =>
    channel(channelId, { kind: 'pagerduty', routingKey: 'a'.repeat(32), url: `${receiver.url}/${channelId}` });
  const setRoutes = async (fields: object = {}) => {
    const route = {
      id: 'all',
      channels: ['ops'],
      groupBy: ['agent'],
      groupWait: '0s',
      groupInterval: '60s',
      ...fields,
    };
    const document = RoutingDocument.parse({ routes: [route] });
    granted(await world.bus.request(COMMANDS.setRoutes, { tenantId, document, by: 'ann' }));
  };
  const raise = async (fields: object = {}) => granted(await review.raise({ tenantId, ...fields }));
  const end = async (id: string) => granted(await review.decide(id, 'cancel', { tenantId }));
  const ask = async () => granted(await review.resolve(review.binding({ runId: `run-${tenantId}` }), { tenantId }));
  /** Requests to a channel, once every delivery is settled: a clock that is moved meanwhile would end their leases. */
  const received = (channelId: string, count: number): Promise<readonly RecordedRequest[]> =>
    eventually(async () => {
      const found = receiver.requests.filter(({ path }) => path.startsWith(`/${channelId}`));
      if (found.length < count) throw new Error(`only ${found.length} requests to ${channelId}`);
      const open = await world.db
        .selectFrom('deliveries')
        .select('delivery_id')
        .where('tenant_id', '=', tenantId)
        .where('settled_at', 'is', null)
        .execute();
      if (open.length > 0) throw new Error('not settled');
      return found;
    });
  const body = (request: RecordedRequest | undefined) => JSON.parse(request?.body ?? 'null');
  const data = (request: RecordedRequest | undefined) => body(request).data;

  it('receives the end of what it showed, also when the channel works again', async () => {
    await hook('spare');
    await hook('ops', { fallback: 'spare' });
    await setRoutes();
    refusing.add('ops');
    const alert = await raise();
    expect(data((await received('spare', 1))[0])).toMatchObject({ reason: 'fallback', firing: [{ id: alert.id }] });
    refusing.clear();
    await end(alert.id);
    world.clock.set(at(61));
    const told = await Promise.all([received('ops', 2), received('spare', 2)]);
    for (const [, last] of told)
      expect(data(last)).toMatchObject({ reason: 'resolved', firing: [], resolved: [{ id: alert.id }] });
    expect(told.map(({ length }) => length)).toEqual([2, 2]);
  });

  it('receives the end once when the channel refuses the end as well', async () => {
    await hook('spare');
    await hook('ops', { fallback: 'spare' });
    await setRoutes();
    refusing.add('ops');
    const [first, second] = [await raise(), await raise({ agentId: 'agent-2' })];
    await received('spare', 2);
    await end(first.id);
    world.clock.set(at(61));
    await received('ops', 3);
    // What comes after it shows that nothing else was queued before.
    await end(second.id);
    world.clock.set(at(122));
    await received('ops', 4);
    const ends = (await received('spare', 4)).map((request) =>
      data(request).resolved.map((one: { id: string }) => one.id),
    );
    expect(ends).toEqual([[], [], [first.id], [second.id]]);
  });

  it('opens one incident for each alert, and closes it', async () => {
    await pager('spare');
    await hook('ops', { fallback: 'spare' });
    await setRoutes({ groupWait: '30s' });
    refusing.add('ops');
    const raised = [await raise(), await raise({ runId: 'run-2' }), await raise({ runId: 'run-3' })];
    world.clock.set(at(30));
    await received('spare', 3);
    refusing.clear();
    for (const { id } of raised) await end(id);
    world.clock.set(at(91));
    const events = (await received('spare', 6)).map(body);
    const keys = raised.map(({ id }) => `agentlens:${tenantId}:${id}`).sort((a, b) => a.localeCompare(b));
    for (const action of ['trigger', 'resolve']) {
      const found = events.filter(({ event_action }) => event_action === action).map(({ dedup_key }) => dedup_key);
      expect(found.sort((a, b) => a.localeCompare(b))).toEqual(keys);
    }
  });

  it('shows nothing that ended before it was asked', async () => {
    await hook('spare');
    await hook('ops', { fallback: 'spare' });
    await setRoutes({ groupInterval: '20s' });
    receiver.answer(({ path }, response) => response.writeHead(path === '/ops' ? 429 : 200).end());
    const [ended, firing] = [await raise(), await raise({ agentId: 'agent-2' })];
    const tried = () => new Set(receiver.requests.map((request) => data(request).group.agent));
    await eventually(() => expect(tried().size).toBe(2));
    await end(ended.id);
    world.clock.set(at(30));
    const groups = () => world.db.selectFrom('notice_groups').select('labels').where('tenant_id', '=', tenantId);
    await eventually(async () => expect(await groups().execute()).toEqual([{ labels: { agent: 'agent-2' } }]));
    world.clock.set(at(61));
    const told = await eventually(() => {
      const found = receiver.requests.filter(({ path }) => path === '/spare');
      if (found.length === 0) throw new Error('nothing fell back');
      return found;
    });
    expect(data(told[0])).toMatchObject({ reason: 'fallback', firing: [{ id: firing.id }], resolved: [] });
    expect(JSON.stringify(told)).not.toContain(ended.id);
  });

  it('passes a notice on to its own fallback', async () => {
    await hook('last');
    await hook('spare', { fallback: 'last' });
    await hook('ops', { fallback: 'spare' });
    await setRoutes();
    for (const name of ['ops', 'spare']) refusing.add(name);
    const alert = await raise();
    expect(data((await received('last', 1))[0])).toMatchObject({ reason: 'fallback', firing: [{ id: alert.id }] });
    refusing.clear();
    await end(alert.id);
    world.clock.set(at(61));
    for (const name of ['ops', 'spare', 'last']) {
      expect(data((await received(name, 2))[1])).toMatchObject({ resolved: [{ id: alert.id }] });
    }
  });

  it('changes its message about an approval to the outcome', async () => {
    const slackApp = { kind: 'slack_app', botToken: 'xoxb-1', signingSecret: 's', workspace: 'T1', channel: 'C1' };
    await channel('spare', { ...slackApp, apiUrl: `${receiver.url}/spare` });
    await hook('ops', { fallback: 'spare' });
    await setRoutes();
    refusing.add('ops');
    const approval = await ask();
    expect((await received('spare', 1))[0]).toMatchObject({ path: '/spare/chat.postMessage' });
    granted(await review.decide(approval.id, 'deny', { tenantId }));
    const told = await received('spare', 2);
    expect(told.map(({ path }) => path)).toEqual(['/spare/chat.postMessage', '/spare/chat.update']);
    expect(body(told[1])).toMatchObject({ text: expect.stringContaining('Approval denied by ann') });
  });
});
