import {
  COMMANDS,
  type DeliverySettled,
  deliverySettled,
  guardrailTriggered,
  type Trigger,
} from '@agentlens/contracts';
import { aTrigger, eventually, type RecordingServer } from '@agentlens/testing';
import { describe, expect, it } from '@jest/globals';
import { Webhook } from 'standardwebhooks';
import { type Dispatching, firedBy } from './dispatching.ts';
import { verifyAt } from './verify-at.ts';
import { withReceiver } from './with-receiver.ts';

const SECRET = `whsec_${Buffer.alloc(32, 9).toString('base64')}`;
const TRACEPARENT = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
const SECOND = 1_000;
const MINUTE = 60 * SECOND;

describe('webhooks', () => {
  let world: Dispatching;
  let receiver: RecordingServer;
  withReceiver((its, receiving) => {
    [world, receiver] = [its, receiving];
  });

  const inMs = (ms: number) => new Date(world.clock.now() + ms).toISOString();
  const answering = (...statuses: number[]) => {
    receiver.answer((_request, response) => response.writeHead(statuses.shift() ?? 200).end());
  };
  async function ruleTo(url: string, config: Record<string, unknown> = {}, id?: string) {
    return world.rule({
      ...(id && { id }),
      actionType: 'notify_webhook',
      actionConfig: { url, ...config },
      cooldownMinutes: 0,
    });
  }
  async function fire(url = `${receiver.url}/hook`, config: Record<string, unknown> = {}): Promise<Trigger> {
    const trigger = aTrigger(firedBy(await ruleTo(url, config)));
    await world.bus.publish(guardrailTriggered, trigger);
    return trigger;
  }
  /** Waits for attempt `n`, then advances the clock past its pause. */
  async function afterAttempt(trigger: Trigger, n: number): Promise<void> {
    const row = await eventually(async () => {
      const delivery = await world.delivery(trigger);
      if (delivery.attempts < n) throw new Error(`only ${delivery.attempts} attempts`);
      return delivery;
    });
    if (row.next_attempt_at !== null) world.clock.set(row.next_attempt_at);
  }

  it('arrive signed, with the documented fields, in the trace of the event', async () => {
    const id = 'rule-with-secrets';
    const context = ['acme', 'guardrail_rules', id];
    const config = {
      secret: world.secrets.seal(SECRET, context),
      headers: { authorization: world.secrets.seal('Bearer top-secret', context) },
    };
    const rule = await ruleTo(`${receiver.url}/hook?x=1`, config, id);
    const trigger = aTrigger(firedBy(rule));
    await world.recorder().record(trigger, TRACEPARENT);
    await world.start();
    await world.settled(trigger, 'success');

    expect(receiver.requests).toHaveLength(1);
    const [request] = receiver.requests;
    const delivery = await world.delivery(trigger);
    expect(request).toMatchObject({ method: 'POST', path: '/hook?x=1' });
    expect(request?.headers).toMatchObject({
      'webhook-id': delivery.delivery_id,
      authorization: 'Bearer top-secret',
      traceparent: TRACEPARENT,
    });
    expect(JSON.parse(request?.body ?? '')).toMatchObject({
      type: 'guardrail.triggered',
      timestamp: trigger.triggeredAt,
      data: trigger,
      guardrailId: rule.id,
      guardrailName: rule.name,
      conditionValue: 50,
      conditionThreshold: 30,
      agentId: 'agent-1',
      message: trigger.message,
    });
    const webhook = new Webhook(SECRET);
    expect(() => verifyAt(webhook, request?.body ?? '', request?.headers ?? {})).not.toThrow();
    expect(() => verifyAt(webhook, `${request?.body} `, request?.headers ?? {})).toThrow();
    expect(await world.attempts(trigger)).toMatchObject([{ attempt: 1, outcome: 'delivered', http_status: 200 }]);
    const [{ exchange } = { exchange: null }] = await world.attempts(trigger);
    expect(exchange).toMatchObject({
      request: {
        ...{ method: 'POST', origin: receiver.url, bodyCut: false, bodyBytes: Buffer.byteLength(request?.body ?? '') },
        headers: { 'webhook-id': delivery.delivery_id, authorization: '[masked]', 'webhook-signature': '[masked]' },
      },
      response: { status: 200, body: null },
    });
    expect(JSON.parse(exchange?.request.body ?? '')).toMatchObject({
      type: 'guardrail.triggered',
      guardrailId: rule.id,
    });

    const kept =
      JSON.stringify([delivery, await world.attempts(trigger), await world.history(trigger)]) + world.logged();
    expect(kept).not.toContain('top-secret');
    expect(kept).not.toContain(SECRET);
  });

  it('store the response to each attempt, with any contents', async () => {
    const answers = ['odd \u0000 \ud83d answer to ann@example.com', 'x'.repeat(20_000)];
    receiver.answer((_request, response) => {
      const body = answers.shift();
      response.writeHead(body === undefined ? 200 : 500, { 'set-cookie': 'session=secret' }).end(body);
    });
    await world.start();
    const trigger = await fire();
    await afterAttempt(trigger, 1);
    await afterAttempt(trigger, 2);
    await world.settled(trigger, 'success');
    const responses = (await world.attempts(trigger)).map(({ exchange }) => exchange?.response);
    expect(responses).toMatchObject([
      {
        status: 500,
        body: 'odd \ufffd \ufffd answer to [email]',
        bodyCut: false,
        headers: { 'set-cookie': '[masked]' },
      },
      { status: 500, body: 'x'.repeat(8 * 1024), bodyBytes: 20_000, bodyCut: true },
      { status: 200, body: null },
    ]);
  });

  it('publish their result on the bus', async () => {
    const seen: DeliverySettled[] = [];
    const watch = await world.bus.watch(deliverySettled, { tenantId: 'acme' }, ({ value }) => seen.push(value));
    await world.start();
    const trigger = await fire();
    await eventually(() =>
      expect(seen).toContainEqual(expect.objectContaining({ triggerId: trigger.id, result: 'success', attempts: 1 })),
    );
    await watch.close();
  });

  it('are retried on schedule with the same id until they are accepted', async () => {
    answering(500, 302, 200);
    await world.start();
    const trigger = await fire();

    const first = await world.settled(trigger, 'retrying');
    expect(first.action_detail).toBe('HTTP 500');
    expect(await world.delivery(trigger)).toMatchObject({ next_attempt_at: inMs(5 * SECOND), attempts: 1 });
    await afterAttempt(trigger, 1);
    await eventually(async () => expect(await world.delivery(trigger)).toMatchObject({ attempts: 2 }));
    expect(await world.delivery(trigger)).toMatchObject({ next_attempt_at: inMs(5 * MINUTE), result: 'retrying' });
    await afterAttempt(trigger, 2);
    await world.settled(trigger, 'success');

    expect(new Set(receiver.requests.map(({ headers }) => headers['webhook-id'])).size).toBe(1);
    expect(new Set(receiver.requests.map(({ body }) => body)).size).toBe(1);
    expect(await world.attempts(trigger)).toMatchObject([
      { attempt: 1, outcome: 'retry', http_status: 500 },
      { attempt: 2, outcome: 'retry', http_status: 302 },
      { attempt: 3, outcome: 'delivered', http_status: 200 },
    ]);
  });

  it('fail after eight attempts', async () => {
    answering(...Array.from({ length: 20 }, () => 404));
    await world.start();
    const trigger = await fire();
    for (let n = 1; n <= 8; n++) await afterAttempt(trigger, n);
    const row = await world.settled(trigger, 'failed');
    expect(row.action_detail).toBe('gave up after the last attempt: HTTP 404');
    expect(receiver.requests).toHaveLength(8);
    expect(await world.delivery(trigger)).toMatchObject({ next_attempt_at: null, attempts: 8 });
  });

  it('honor Retry-After', async () => {
    receiver.answer((_request, response) => response.writeHead(429, { 'retry-after': '120' }).end());
    await world.start();
    const trigger = await fire();
    await world.settled(trigger, 'retrying');
    expect(await world.delivery(trigger)).toMatchObject({ next_attempt_at: inMs(120 * SECOND) });
  });

  it('stop at 410 for everything to that address until a person redelivers', async () => {
    answering(410);
    await world.start();
    const url = `${receiver.url}/gone`;
    const first = await fire(url);
    expect(await world.settled(first, 'failed')).toMatchObject({ action_detail: expect.stringMatching(/410/) });

    const second = await fire(url);
    const refused = await world.settled(second, 'failed');
    expect(refused.action_detail).toMatch(/destination is disabled.*redeliver/);
    expect(receiver.requests).toHaveLength(1);
    expect(await world.attempts(second)).toEqual([]);
    const elsewhere = await fire(`${receiver.url}/alive`);
    await world.settled(elsewhere, 'success');

    const { delivery_id: deliveryId } = await world.delivery(first);
    const answer = await world.bus.request(COMMANDS.redeliver, { tenantId: 'acme', deliveryId });
    expect(answer).toEqual({ ok: true, value: { deliveryId } });
    await world.settled(first, 'success');
    expect(receiver.requests.filter(({ headers }) => headers['webhook-id'] === deliveryId)).toHaveLength(2);
    const third = await fire(url);
    await world.settled(third, 'success');
  });

  it('cannot be redelivered by another tenant', async () => {
    await world.start();
    const trigger = await fire();
    await world.settled(trigger, 'success');
    const { delivery_id: deliveryId } = await world.delivery(trigger);
    for (const order of [
      { tenantId: 'beta', deliveryId },
      { tenantId: 'acme', deliveryId: 'no-such' },
    ]) {
      expect(await world.bus.request(COMMANDS.redeliver, order)).toEqual({
        ok: false,
        problem: { error: 'Delivery not found', status: 404 },
      });
    }
    expect(await world.history(trigger)).toMatchObject({ action_result: 'success' });
  });

  it.each([
    ['http://169.254.169.254/latest/meta-data/', /link-local/],
    ['http://[::ffff:10.0.0.1]/', /private address/],
    ['https://user:pass@example.com/', /user name or password/],
    ['http://127.0.0.2:9/', /AGENTLENS_EGRESS_ALLOW/],
  ])('are not sent to %s, with the reason', async (url, reason) => {
    await world.start();
    const trigger = await fire(url);
    const row = await world.settled(trigger, 'failed');
    expect(row.action_detail).toMatch(reason);
    expect(await world.delivery(trigger)).toMatchObject({ attempts: 1, next_attempt_at: null });
  });

  it('are still sent for a rule that was deleted in the meantime, and stay in the history', async () => {
    const rule = await ruleTo(`${receiver.url}/late`);
    const trigger = aTrigger(firedBy(rule));
    await world.recorder().record(trigger);
    await world.deleteRule(rule);
    await world.start();
    expect(await world.settled(trigger, 'success')).toMatchObject({ rule_name: rule.name });
  });

  it('are retried later if their secrets cannot be opened, and report that without revealing them', async () => {
    const sealedElsewhere = world.secrets.seal(SECRET, ['beta', 'guardrail_rules', 'stolen']);
    await world.start();
    const trigger = await fire(undefined, { secret: sealedElsewhere });
    const row = await world.settled(trigger, 'retrying');
    expect(row.action_detail).toMatch(/secret of the rule cannot be opened/);
    expect(receiver.requests).toEqual([]);
    expect(world.logged()).not.toContain(sealedElsewhere);
  });
});
