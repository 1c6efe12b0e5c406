import { createHmac } from 'node:crypto';
import { createRequire } from 'node:module';
import { ChannelDraft, COMMANDS, RoutingDocument } from '@agentlens/contracts';
import { eventually, type RecordedRequest, type RecordingServer } from '@agentlens/testing';
import { beforeEach, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import pg from 'pg';
import { isFromSlack } from '../src/slack/slack-requests.ts';
import { type Dispatching, START } from './dispatching.ts';
import { granted, reviewing } from './reviewing.ts';
import { withReceiver } from './with-receiver.ts';

const SECRET = 'signing-secret';
const NOW = Date.parse(START);

function sign(body: string, atMs = NOW, secret = SECRET) {
  const timestamp = String(Math.floor(atMs / 1_000));
  const digest = createHmac('sha256', secret).update(`v0:${timestamp}:${body}`).digest('hex');
  return { body, timestamp, signature: `v0=${digest}` };
}

describe('the signature of Slack', () => {
  it('is judged as the library of Slack judges it', () => {
    const { isValidSlackRequest } = createRequire(import.meta.url)('@slack/bolt') as {
      isValidSlackRequest: (this: void, options: object) => boolean;
    };
    const request = fc.record({
      body: fc.string({ unit: 'grapheme', maxLength: 200 }),
      skewS: fc.integer({ min: -400, max: 400 }),
      secret: fc.constantFrom(SECRET, 'other'),
      damage: fc.constantFrom('none', 'body', 'signature', 'short'),
    });
    fc.assert(
      fc.property(request, ({ body, skewS, secret, damage }) => {
        const signed = sign(body, NOW + skewS * 1_000, secret);
        const sent = {
          body: damage === 'body' ? `${body}x` : body,
          timestamp: signed.timestamp,
          signature: {
            none: signed.signature,
            body: signed.signature,
            signature: `${signed.signature.slice(0, -1)}!`,
            short: 'v0=',
          }[damage],
        };
        const oracle = isValidSlackRequest({
          ...{ signingSecret: SECRET, body: sent.body, nowMilliseconds: NOW },
          headers: { 'x-slack-signature': sent.signature, 'x-slack-request-timestamp': Number(sent.timestamp) },
        });
        // Bolt accepts timestamps from the future; a clock that far ahead is refused here.
        expect(isFromSlack(sent, SECRET, NOW)).toBe(oracle && skewS <= 300);
      }),
      { numRuns: 300 },
    );
  });
});

describe('a Slack app', () => {
  let world: Dispatching;
  let slack: RecordingServer;
  let review: ReturnType<typeof reviewing>;
  let tenantId = '';
  let tenants = 0;
  withReceiver((its, receiving) => {
    [world, slack, review] = [its, receiving, reviewing(its)];
    tenantId = `slack-${tenants++}`;
  });

  let sent = 0;
  const answerOk = () =>
    slack.answer((_request, response) => {
      sent += 1;
      response
        .writeHead(200, { 'content-type': 'application/json' })
        .end(JSON.stringify({ ok: true, ts: `17.${sent}` }));
    });

  beforeEach(async () => {
    answerOk();
    await world.start({ publicUrl: 'https://lens.example.com' });
  });

  const setUp = async (config: object = {}) => {
    const slackApp = { kind: 'slack_app', botToken: 'xoxb-1', signingSecret: SECRET, workspace: 'T1', channel: 'C1' };
    const draft = ChannelDraft.parse({ config: { ...slackApp, apiUrl: slack.url, ...config } });
    granted(await world.bus.request(COMMANDS.setChannel, { tenantId, channelId: 'ops', draft }));
    const document = RoutingDocument.parse({ routes: [{ id: 'all', channels: ['ops'] }] });
    granted(await world.bus.request(COMMANDS.setRoutes, { tenantId, document, by: 'ann' }));
  };
  const ask = async (args = '{"amount":5}') =>
    granted(
      await review.resolve(review.binding({ runId: `run-${tenantId}` }), { tenantId, call: { arguments: args } }),
    );
  const received = (count: number): Promise<readonly RecordedRequest[]> =>
    eventually(async () => {
      if (slack.requests.length < count) throw new Error(`only ${slack.requests.length} requests`);
      return slack.requests;
    });
  const body = (request: RecordedRequest | undefined) => JSON.parse(request?.body ?? 'null');
  const buttons = (request: RecordedRequest | undefined): { action_id: string; value: string }[] =>
    body(request)
      .blocks.flatMap((block: { elements?: object[] }) => block.elements ?? [])
      .filter((one: { value?: string }) => one.value !== undefined);
  const click = (action: object | undefined, fields: object = {}, headers: object = {}) => {
    const payload = {
      ...{ type: 'block_actions', user: { id: 'U1', team_id: 'T1' }, team: { id: 'T1' } },
      ...{ response_url: `${slack.url}/reply`, actions: [action], ...fields },
    };
    const form = new URLSearchParams({ payload: JSON.stringify(payload) }).toString();
    // The specs test the answer, not whether a busy machine meets the deadline.
    return world.bus.request(
      { ...COMMANDS.takeSlackClick, deadlineMs: 15_000 },
      { tenantId, channelId: 'ops', ...sign(form), ...headers },
    );
  };
  const replies = (count: number) =>
    eventually(async () => {
      const found = slack.requests.filter(({ path }) => path === '/reply');
      if (found.length < count) throw new Error(`only ${found.length} replies`);
      return found.map((request) => body(request).text as string);
    });
  const key = async (scopes: string) => {
    const client = new pg.Client({ connectionString: world.url });
    await client.connect();
    try {
      await client.query(`insert into tenants (id, name, created_at) values ($1, $1, now()) on conflict do nothing`, [
        tenantId,
      ]);
      await client.query(
        `insert into api_keys (tenant_id, key_id, name, secret_hash, scopes, created_at) values ($1, $2, 'ann', '', $3, now())
         on conflict (tenant_id, key_id) do update set scopes = excluded.scopes`,
        [tenantId, `key-${tenantId}`, `{${scopes}}`],
      );
    } finally {
      await client.end();
    }
  };
  /** Follows the link that an account without one gets. */
  const link = async (action: object | undefined) => {
    granted(await click(action));
    const [text = ''] = await replies(1);
    const token = decodeURIComponent(text.slice(text.indexOf('#') + 1));
    const author = { keyId: `key-${tenantId}`, keyName: 'ann' };
    return world.bus.request(COMMANDS.linkChat, { tenantId, token, author });
  };

  it('shows the whole call, takes the click of the linked key as its vote, and shows the outcome', async () => {
    await setUp();
    await key('review');
    const approval = await ask('{"amount":5,"note":"```<!channel>"}');
    const [posted] = await received(1);
    expect(posted).toMatchObject({ path: '/chat.postMessage', headers: { authorization: 'Bearer xoxb-1' } });
    expect(JSON.stringify(body(posted).blocks)).toContain('rich_text_preformatted');
    const [approve, deny] = buttons(posted);
    expect([approve?.action_id, deny?.action_id]).toEqual(['agentlens_approve', 'agentlens_deny']);
    granted(await link(approve));
    for (let n = 0; n < 5; n++) granted(await click(approve));
    const row = await review.alert(approval.id);
    expect(row).toMatchObject({ status: 'approved', decided_by: 'ann, slack' });
    const updated = await eventually(async () => {
      const found = slack.requests.find(({ path }) => path === '/chat.update');
      if (found === undefined) throw new Error('no update');
      return found;
    });
    expect(body(updated)).toMatchObject({
      ts: '17.1',
      text: expect.stringContaining('Approval approved by ann, slack'),
    });
    expect(buttons(updated)).toEqual([]);
    expect((await replies(2))[1]).toContain('already');
  });

  it('replaces a message whose answer was lost when it is clicked, because only the other one is changed', async () => {
    let posts = 0;
    slack.answer(({ path }, response) => {
      posts += path === '/chat.postMessage' ? 1 : 0;
      if (posts === 1) return void response.destroy();
      response
        .writeHead(200, { 'content-type': 'application/json' })
        .end(JSON.stringify({ ok: true, ts: `17.${posts}` }));
    });
    await setUp();
    await key('review');
    const approval = await ask();
    const delivery = world.db.selectFrom('deliveries').select(['result', 'receipt']).where('tenant_id', '=', tenantId);
    await eventually(async () => expect(await delivery.execute()).toEqual([{ result: 'retrying', receipt: null }]));
    world.clock.set(new Date(NOW + 2_000).toISOString());
    await eventually(async () => expect(await delivery.execute()).toEqual([{ result: 'success', receipt: '17.2' }]));
    const [approve] = buttons((await received(2))[1]);
    granted(await link(approve));
    granted(await click(approve, { container: { message_ts: '17.1' } }));
    granted(await click(approve, { container: { message_ts: '17.1' } }));
    granted(await click(approve, { container: { message_ts: '17.2' } }));
    expect(await review.alert(approval.id)).toMatchObject({ status: 'approved' });
    await replies(4);
    const told = slack.requests.filter(({ path }) => path === '/reply').map((request) => body(request));
    expect(told.slice(1).filter(({ replace_original }) => replace_original)).toHaveLength(2);
    expect(told.filter(({ replace_original }) => replace_original).map(({ text }) => text)).toEqual(
      expect.arrayContaining([expect.stringContaining('Approval approved by ann'), expect.stringContaining('already')]),
    );
  });

  it('refuses requests that are late, forged or of another channel, without detail', async () => {
    await setUp();
    await ask();
    const [approve] = buttons((await received(1))[0]);
    const form = 'payload={}';
    const refused = await Promise.all([
      click(approve, {}, { signature: 'v0=00' }),
      click(approve, {}, sign(form, NOW - 301_000)),
      click(approve, {}, sign(form, NOW, 'other')),
      click(approve, {}, { timestamp: '12x' }),
      click(approve, {}, { channelId: 'elsewhere' }),
    ]);
    const statuses = refused.map((answer) => (answer.ok ? 200 : answer.problem.status));
    expect(statuses).toEqual([401, 401, 401, 401, 401]);
    expect(new Set(refused.map((answer) => JSON.stringify(answer))).size).toBe(1);
  });

  it('takes no vote of another workspace, of an account without a link, or of a key that lost the right', async () => {
    await setUp();
    await key('review');
    const approval = await ask();
    const [approve] = buttons((await received(1))[0]);
    granted(await link(approve));
    granted(await click(approve, { user: { id: 'U1', team_id: 'T9' } }));
    granted(await click(approve, { user: { id: 'U2', team_id: 'T1' } }));
    await key('read');
    granted(await click(approve));
    granted(await click({ ...approve, value: JSON.stringify(['other-alert', 'x']) }));
    const texts = await replies(5);
    expect(texts.join('\n')).toMatch(/Only members[\s\S]*not linked[\s\S]*no approval of this channel/);
    expect(texts.join('\n')).toContain('may no longer review');
    expect(await review.alert(approval.id)).toMatchObject({ status: 'pending' });
  });

  it.each([
    ['does not fit', {}, 'x'.repeat(20_000), 'too long'],
    ['may not be shown there', { content: 'none' }, '{}', 'does not show calls'],
  ])('has no Approve button for a call that %s', async (_what, config, args, why) => {
    await setUp(config);
    await ask(args);
    const [posted] = await received(1);
    expect(buttons(posted)).toEqual([]);
    expect(JSON.stringify(body(posted))).toContain(why);
  });

  it('takes ok: false with status 200 as a refusal, and waits after 429', async () => {
    await setUp();
    slack.answer((_request, response) => response.writeHead(429, { 'retry-after': '40' }).end());
    await ask();
    await received(1);
    const delivery = () =>
      world.db.selectFrom('deliveries').selectAll().where('tenant_id', '=', tenantId).executeTakeFirstOrThrow();
    const waiting = await eventually(async () => {
      const row = await delivery();
      if (row.result !== 'retrying') throw new Error(row.result);
      return row;
    });
    expect(waiting.next_attempt_at).toBe(new Date(NOW + 40_000).toISOString());
    slack.answer((_request, response) => response.writeHead(200).end('{"ok":false,"error":"channel_not_found"}'));
    world.clock.set(new Date(NOW + 40_000).toISOString());
    await eventually(async () =>
      expect(await delivery()).toMatchObject({ result: 'failed', detail: 'Slack: channel_not_found' }),
    );
  });
});
