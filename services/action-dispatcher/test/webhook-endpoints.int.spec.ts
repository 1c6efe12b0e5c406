import {
  breakerChanged,
  COMMANDS,
  guardrailTriggered,
  type WebhookDraft,
  type WebhookPatch,
} from '@agentlens/contracts';
import { aTrigger, eventually, type RecordedRequest, type RecordingServer } from '@agentlens/testing';
import { describe, expect, it } from '@jest/globals';
import { Webhook } from 'standardwebhooks';
import { type Dispatching, firedBy, START } from './dispatching.ts';
import { granted, reviewing } from './reviewing.ts';
import { verifyAt } from './verify-at.ts';
import { withReceiver } from './with-receiver.ts';

const PUBLIC_URL = 'https://lens.example.com';

describe('webhook endpoints of a tenant', () => {
  let world: Dispatching;
  let receiver: RecordingServer;
  let tenantId = '';
  let tenants = 0;
  withReceiver((its, receiving) => {
    [world, receiver] = [its, receiving];
    tenantId = `tenant-${tenants++}`;
  });

  const create = async (fields: Partial<WebhookDraft> = {}, tenant = tenantId) =>
    granted(
      await world.bus.request(COMMANDS.createWebhook, {
        tenantId: tenant,
        draft: { url: `${receiver.url}/all`, events: ['approvals'], format: 'standard', enabled: true, ...fields },
      }),
    );
  const start = () => world.start({ publicUrl: PUBLIC_URL });
  const received = (count: number): Promise<readonly RecordedRequest[]> =>
    eventually(async () => {
      if (receiver.requests.length < count) throw new Error(`only ${receiver.requests.length} requests`);
      return receiver.requests;
    });
  const bodyOf = (request: RecordedRequest | undefined) => JSON.parse(request?.body ?? 'null');
  const deliveries = () =>
    world.db.selectFrom('deliveries').selectAll().where('tenant_id', '=', tenantId).orderBy('created_at').execute();
  const settled = () =>
    eventually(async () => {
      const rows = await deliveries();
      if (rows.length === 0 || rows.some((row) => row.settled_at === null)) throw new Error('not settled yet');
      return rows;
    });

  it('receive an approval, signed with the secret that was shown once, with a link', async () => {
    await start();
    const { id, secret, ...endpoint } = await create();
    expect(endpoint).toMatchObject({
      url: `${receiver.url}/all`,
      events: ['approvals'],
      format: 'standard',
      version: 1,
    });
    const review = reviewing(world);
    const alert = granted(await review.resolve(review.binding({ runId: `${tenantId}-run` }), { tenantId }));

    const [request] = await received(1);
    const body = bodyOf(request);
    expect(body).toMatchObject({
      type: 'approval.changed',
      timestamp: START,
      data: { id: alert.id, status: 'pending' },
      url: `${PUBLIC_URL}/approvals?id=${alert.id}`,
    });
    expect(() => verifyAt(new Webhook(secret), request?.body ?? '', request?.headers ?? {})).not.toThrow();
    const [row] = await settled();
    expect(row).toMatchObject({ webhook_id: id, action_type: 'webhook', result: 'success', trigger_id: alert.id });
    const stored = await world.db
      .selectFrom('webhook_endpoints')
      .select('secret')
      .where('webhook_id', '=', id)
      .executeTakeFirstOrThrow();
    expect([stored.secret, JSON.stringify(row?.action_config), world.logged()].join()).not.toContain(secret);
  });

  it('receive only the events they listen to, of their own tenant', async () => {
    await start();
    await create({ url: `${receiver.url}/orders`, events: ['orders'] });
    await create({ url: `${receiver.url}/other`, events: ['orders'] }, `${tenantId}-other`);
    await create({ url: `${receiver.url}/off`, events: ['orders'], enabled: false });
    const review = reviewing(world);
    granted(await review.raise({ tenantId, agentId: 'a' }));
    granted(await review.order({ tenantId, scope: 'agent', scopeId: 'bot', state: 'paused' }));

    await received(1);
    const rows = await settled();
    expect(rows).toHaveLength(1);
    expect(receiver.requests.map(({ path }) => path)).toEqual(['/orders']);
    expect(bodyOf(receiver.requests[0])).toMatchObject({
      type: 'control.order',
      data: { scope: 'agent', scopeId: 'bot', state: 'paused' },
      url: `${PUBLIC_URL}/agents/bot`,
    });
  });

  it('receive alerts and breakers once each, even if the message is repeated', async () => {
    await start();
    await create({ events: ['alerts', 'breakers'] });
    const change = {
      ...{ tenantId, scope: 'run' as const, scopeId: 'run-9', agentId: 'bot', version: 3, at: START },
      state: { kind: 'open' as const, openedAt: START, reason: 'cost' as const },
    };
    await world.bus.publish(breakerChanged, change);
    await received(2);
    await world.bus.publish(breakerChanged, {
      ...change,
      version: 4,
      state: { kind: 'half_open', openedAt: START, reason: 'cost', probe: 'p' },
    });
    await world.bus.publish(breakerChanged, { ...change, version: 5, state: { kind: 'closed' } });
    await received(4);
    const types = Map.groupBy(receiver.requests, (request) => bodyOf(request).type);
    expect([types.get('alert.changed')?.length, types.get('breaker.changed')?.length]).toEqual([2, 2]);
  });

  it("receive effective triggers, in addition to the rule's action and without affecting its result", async () => {
    await start();
    await create({ events: ['triggers'] });
    const rule = await world.rule({ tenantId, actionType: 'pause_agent', actionConfig: {}, cooldownMinutes: 60 });
    const trigger = aTrigger(firedBy(rule));
    await world.bus.publish(guardrailTriggered, trigger);
    await world.bus.publish(guardrailTriggered, aTrigger({ ...firedBy(rule), dryRun: true, agentId: 'shadow' }));
    // This trigger falls into the cooldown.
    await world.bus.publish(guardrailTriggered, aTrigger(firedBy(rule)));
    receiver.answer((_request, response) => response.writeHead(500).end());

    const [request] = await received(1);
    expect(bodyOf(request)).toMatchObject({ type: 'guardrail.triggered', data: { id: trigger.id, ruleId: rule.id } });
    await world.settled(trigger, 'success');
    const rows = (await deliveries()).filter(({ webhook_id }) => webhook_id !== null);
    expect(rows.map(({ trigger_id }) => trigger_id)).toEqual([trigger.id]);
  });

  it('for Slack receive the format of an incoming webhook', async () => {
    await start();
    await create({ format: 'slack' });
    const review = reviewing(world);
    granted(await review.resolve(review.binding({ runId: `${tenantId}-run` }), { tenantId }));
    const [request] = await received(1);
    expect(bodyOf(request)).toMatchObject({
      text: 'Approval needed: May it pay?',
      blocks: [{ type: 'section' }, { type: 'context' }, { type: 'actions' }],
    });
  });

  it('can be tested regardless of what they listen to', async () => {
    await start();
    const { id: webhookId } = await create({ events: ['audit'] });
    const { deliveryId } = granted(await world.bus.request(COMMANDS.testWebhook, { tenantId, webhookId }));
    const [request] = await received(1);
    expect(bodyOf(request)).toMatchObject({ type: 'webhook.test', data: { webhookId } });
    expect(request?.headers['webhook-id']).toBe(deliveryId);
  });

  it('are rejected if the platform may not call the address', async () => {
    await start();
    const draft = { events: ['alerts'], format: 'standard', enabled: true } as const;
    const answer = await world.bus.request(COMMANDS.createWebhook, {
      tenantId,
      draft: { ...draft, events: ['alerts'], url: 'http://169.254.169.254/latest' },
    });
    expect(answer).toMatchObject({ ok: false, problem: { status: 400, details: [{ path: 'url' }] } });
  });

  it('change only at the version that is named', async () => {
    await start();
    const { id: webhookId } = await create();
    const named = { tenantId, webhookId, ifVersion: 1 };
    expect(
      granted(await world.bus.request(COMMANDS.updateWebhook, { ...named, patch: { name: 'one' } })),
    ).toMatchObject({
      version: 2,
    });
    const outdated = {
      ok: false,
      problem: { status: 412, currentVersion: 2, error: expect.stringContaining('webhook') },
    };
    expect(await world.bus.request(COMMANDS.updateWebhook, { ...named, patch: { name: 'two' } })).toMatchObject(
      outdated,
    );
    expect(await world.bus.request(COMMANDS.rotateWebhookSecret, named)).toMatchObject(outdated);
    expect(await world.bus.request(COMMANDS.deleteWebhook, named)).toMatchObject(outdated);
    granted(await world.bus.request(COMMANDS.deleteWebhook, { ...named, ifVersion: 2 }));
  });

  it('are not moved to an address that does not take their format', async () => {
    await start();
    const { id: webhookId } = await create();
    const url = 'https://hooks.slack.com/services/T/B/X';
    const moved = (patch: WebhookPatch) => world.bus.request(COMMANDS.updateWebhook, { tenantId, webhookId, patch });
    expect(await moved({ url })).toMatchObject({
      ok: false,
      problem: { status: 400, details: [{ path: 'format', message: expect.stringContaining('Slack') }] },
    });
    expect(granted(await moved({ url, format: 'slack' }))).toMatchObject({ url, format: 'slack' });
  });

  it('listen to added events, or to all events after being enabled again, from that time on', async () => {
    await start();
    const { id: webhookId } = await create({ events: ['orders'] });
    const since = async () => {
      const stored = world.db.selectFrom('webhook_endpoints').select('listens_since');
      return (await stored.where('webhook_id', '=', webhookId).executeTakeFirstOrThrow()).listens_since;
    };
    const changed = async (patch: WebhookPatch) => {
      world.clock.advance(60_000);
      granted(await world.bus.request(COMMANDS.updateWebhook, { tenantId, webhookId, patch }));
      return new Date(world.clock.now()).toISOString();
    };
    await changed({ name: 'the same' });
    expect(await since()).toEqual({});
    const added = await changed({ events: ['orders', 'audit'] });
    expect(await since()).toEqual({ audit: added });
    await changed({ enabled: false });
    expect(await since()).toEqual({ audit: added });
    const resumed = await changed({ enabled: true });
    expect(await since()).toEqual({ orders: resumed, audit: resumed });
  });

  it('receive nothing more of the queue after they are disabled or deleted', async () => {
    receiver.answer((_request, response) => response.writeHead(503).end());
    await start();
    const { id: webhookId } = await create({ events: ['orders'] });
    const gone = await create({ events: ['orders'], url: `${receiver.url}/gone` });
    granted(await reviewing(world).order({ tenantId, scope: 'agent', scopeId: 'bot', state: 'paused' }));
    await received(2);
    const patch = { enabled: false };
    const off = granted(await world.bus.request(COMMANDS.updateWebhook, { tenantId, webhookId, patch }));
    expect(off).toMatchObject({ enabled: false, version: 2 });
    granted(await world.bus.request(COMMANDS.deleteWebhook, { tenantId, webhookId: gone.id }));
    const rows = await settled();
    expect(new Map(rows.map(({ webhook_id, result, detail }) => [webhook_id, [result, detail]]))).toEqual(
      new Map([
        [webhookId, ['failed', 'the webhook was switched off']],
        [gone.id, ['failed', 'the webhook was deleted']],
      ]),
    );
    expect(await world.bus.request(COMMANDS.testWebhook, { tenantId, webhookId: gone.id })).toMatchObject({
      ok: false,
      problem: { status: 404 },
    });
  });

  it('get a new secret on request', async () => {
    await start();
    const { id: webhookId, secret } = await create();
    const rotated = granted(await world.bus.request(COMMANDS.rotateWebhookSecret, { tenantId, webhookId }));
    expect(rotated.secret).toMatch(/^whsec_/);
    expect(rotated.secret).not.toBe(secret);
  });

  it('are limited to twenty', async () => {
    await start();
    for (let n = 0; n < 20; n++) await create({ url: `${receiver.url}/${n}` });
    const draft = { url: receiver.url, events: ['alerts' as const], format: 'standard' as const, enabled: true };
    expect(await world.bus.request(COMMANDS.createWebhook, { tenantId, draft })).toMatchObject({
      ok: false,
      problem: { status: 422 },
    });
  });
});
