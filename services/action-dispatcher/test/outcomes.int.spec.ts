import { createHmac } from 'node:crypto';
import { ChannelDraft, COMMANDS, RoutingDocument } from '@agentlens/contracts';
import { eventually, type RecordedRequest, type RecordingServer } from '@agentlens/testing';
import { beforeEach, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { lockAlert } from '../src/alerts/alerts.repository.ts';
import { type Dispatching, START } from './dispatching.ts';
import { granted, reviewing } from './reviewing.ts';
import { withReceiver } from './with-receiver.ts';

const SECRET = 'signing-secret';
const at = (seconds: number) => new Date(Date.parse(START) + seconds * 1_000).toISOString();

describe('what a channel has shown', () => {
  let world: Dispatching;
  let receiver: RecordingServer;
  let review: ReturnType<typeof reviewing>;
  let tenantId = '';
  let tenants = 0;
  withReceiver((its, receiving) => {
    [world, receiver, review] = [its, receiving, reviewing(its)];
    tenantId = `outcome-${tenants++}`;
  });

  /** What Slack answers to a change of a message. */
  let updates: object = {};
  beforeEach(async () => {
    updates = {};
    let posted = 0;
    receiver.answer(({ path }, response) => {
      posted += 1;
      const answer = { ok: true, ts: `17.${posted}`, ...(path.endsWith('/chat.update') ? updates : {}) };
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer));
    });
    await world.start();
  });

  const channel = async (channelId: string, config: object) =>
    granted(
      await world.bus.request(COMMANDS.setChannel, {
        ...{ tenantId, channelId, draft: ChannelDraft.parse({ config }) },
      }),
    );
  const slack = (channelId: string) =>
    channel(channelId, {
      ...{ kind: 'slack_app', botToken: 'xoxb-1', signingSecret: SECRET, workspace: 'T1', channel: 'C1' },
      apiUrl: `${receiver.url}/${channelId}`,
    });
  const setRoutes = async (fields: object = {}) => {
    const route = { id: 'all', channels: ['ops'], groupWait: '0s', groupInterval: '60s', ...fields };
    const document = RoutingDocument.parse({ routes: [route] });
    granted(await world.bus.request(COMMANDS.setRoutes, { tenantId, document, by: 'ann' }));
  };
  const ask = async (runId = 'run-1') =>
    granted(
      await review.resolve(review.binding({ runId: `${runId}-${tenantId}` }), { tenantId, call: { arguments: '{}' } }),
    );
  const decide = async (id: string, verb: 'deny' | 'cancel' = 'deny') =>
    granted(await review.decide(id, verb, { tenantId }));
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
  const body = (request: RecordedRequest | undefined) => JSON.parse(request?.body ?? 'null');
  const buttons = (request: RecordedRequest | undefined): string[] =>
    body(request)
      .blocks.flatMap((block: { elements?: { action_id?: string }[] }) => block.elements ?? [])
      .flatMap(({ action_id }: { action_id?: string }) => action_id ?? []);

  it.each([
    ['cant_update_message', { thread_ts: '17.1', reply_broadcast: true }],
    ['edit_window_closed', { thread_ts: '17.1', reply_broadcast: true }],
    ['message_not_found', {}],
  ])('is posted again when Slack refuses the change: %s', async (error, thread) => {
    await slack('ops');
    await setRoutes();
    const approval = await ask();
    await received(1);
    updates = { ok: false, error };
    await decide(approval.id);
    const [, , posted] = await received(3);
    expect(posted?.path).toBe('/ops/chat.postMessage');
    expect(body(posted)).toMatchObject({ ...thread, text: expect.stringContaining('Approval denied by ann') });
    expect('thread_ts' in body(posted)).toBe('thread_ts' in thread);
    const results = world.db.selectFrom('deliveries').select('result').where('tenant_id', '=', tenantId);
    expect(await results.execute()).toEqual([{ result: 'success' }, { result: 'success' }]);
  });

  it('has its buttons in one message: a reminder is a reply without them', async () => {
    await slack('ops');
    await setRoutes({ escalate: [{ beforeExpiry: '5m', channels: ['ops'] }] });
    const approval = await ask();
    const [posted] = await received(1);
    expect(buttons(posted)).toEqual(['agentlens_approve', 'agentlens_deny']);
    world.clock.set(at(600));
    const [, reminder] = await received(2);
    expect(body(reminder)).toMatchObject({ thread_ts: '17.1' });
    expect(buttons(reminder)).toEqual([]);
    expect(reminder?.body).toContain('Decide in the message that this answers');
    await decide(approval.id);
    const [, , change] = await received(3);
    expect(change?.path).toBe('/ops/chat.update');
    expect(body(change)).toMatchObject({ ts: '17.1' });
  });

  it('gets its outcome also if it is decided while it is escalated', async () => {
    await slack('ops');
    await slack('boss');
    await setRoutes({ escalate: [{ beforeExpiry: '5m', channels: ['boss'] }] });
    const [deciding, other] = [await ask(), await ask('run-2')];
    await received(2);
    const bossHears = (id: string) =>
      eventually(() => {
        const found = receiver.requests.filter(({ path, body: text }) => path.startsWith('/boss') && text.includes(id));
        if (found.length === 0) throw new Error('nothing arrived');
        return found;
      });
    await world.db.transaction().execute(async (tx) => {
      // A decision that has begun.
      await lockAlert(tx, tenantId, deciding.id);
      world.clock.set(at(600));
      await bossHears(other.id);
      expect(
        receiver.requests.filter(({ path, body: text }) => path.startsWith('/boss') && text.includes(deciding.id)),
      ).toEqual([]);
    });
    await bossHears(deciding.id);
  });

  it('is ended by a receiver that failed for longer than a page is tried', async () => {
    await channel('ops', { kind: 'pagerduty', routingKey: 'a'.repeat(32), url: receiver.url });
    await setRoutes();
    const alert = granted(await review.raise({ tenantId }));
    await received(1);
    receiver.answer((_request, response) => response.writeHead(429).end());
    await decide(alert.id, 'cancel');
    world.clock.set(at(61));
    for (let attempt = 1; attempt <= 12; attempt++) {
      const { next_attempt_at: next } = await eventually(async () => {
        const row = await world.db
          .selectFrom('deliveries')
          .selectAll()
          .where('tenant_id', '=', tenantId)
          .where('attempts', '=', attempt)
          .where('order_n', 'is not', null)
          .orderBy('order_n', 'desc')
          .executeTakeFirst();
        if (row?.result !== 'retrying') throw new Error(`attempt ${attempt}: ${row?.result}`);
        return row;
      });
      if (attempt === 12) receiver.answer((_request, response) => response.writeHead(202).end('{}'));
      world.clock.set(next ?? '');
    }
    const last = (await received(14)).at(-1);
    expect(body(last)).toMatchObject({ event_action: 'resolve', dedup_key: `agentlens:${tenantId}:${alert.id}` });
  });

  it('answers a click that could not be taken', async () => {
    await slack('ops');
    await setRoutes();
    const approval = await ask();
    await received(1);
    const payload = {
      ...{ type: 'block_actions', user: { id: 'U1', team_id: 'T1' }, team: { id: 'T1' } },
      response_url: `${receiver.url}/reply`,
      actions: [{ action_id: 'agentlens_approve', value: JSON.stringify([approval.id, '']) }],
    };
    const form = new URLSearchParams({ payload: JSON.stringify(payload) }).toString();
    const timestamp = String(Math.floor(Date.parse(START) / 1_000));
    const digest = createHmac('sha256', SECRET).update(`v0:${timestamp}:${form}`).digest('hex');
    const admin = new pg.Client({ connectionString: world.url });
    await admin.connect();
    try {
      await admin.query('revoke select on chat_links from agentlens_action_dispatcher');
      const answer = await world.bus.request(
        { ...COMMANDS.takeSlackClick, deadlineMs: 15_000 },
        { tenantId, channelId: 'ops', body: form, timestamp, signature: `v0=${digest}` },
      );
      expect(answer).toMatchObject({ ok: false, problem: { status: 500 } });
    } finally {
      await admin.query('grant select on chat_links to agentlens_action_dispatcher');
      await admin.end();
    }
    const told = await eventually(() => {
      const found = receiver.requests.find(({ path }) => path === '/reply');
      if (found === undefined) throw new Error('no reply');
      return found;
    });
    expect(body(told)).toMatchObject({
      response_type: 'ephemeral',
      text: expect.stringContaining('Press the button again'),
    });
    expect(await review.alert(approval.id)).toMatchObject({ status: 'pending' });
  });
});
