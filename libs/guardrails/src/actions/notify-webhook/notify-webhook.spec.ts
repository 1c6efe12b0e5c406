import { createHmac } from 'node:crypto';
import { aTrigger } from '@agentlens/testing';
import { describe, expect, it } from '@jest/globals';
import { actionTools, answered } from '../action-tools.testing.ts';
import { notifyWebhook as action } from './notify-webhook.ts';
import { signWebhook } from './post-webhook.ts';

const KEY = Buffer.alloc(32, 7);
const SECRET = `whsec_${KEY.toString('base64')}`;
const URL_ = 'https://hooks.example/in';

describe('notify_webhook', () => {
  it('posts the trigger with the flat fields next to the standard ones', async () => {
    const tools = actionTools();
    const trigger = aTrigger();
    expect(await action.execute({ url: URL_ }, trigger, tools)).toMatchObject({ kind: 'delivered' });
    expect(JSON.parse(tools.requests[0]?.body ?? '')).toEqual({
      type: 'guardrail.triggered',
      timestamp: trigger.triggeredAt,
      data: trigger,
      guardrailId: 'rule-1',
      guardrailName: 'Too many errors',
      conditionType: 'error_rate_threshold',
      conditionValue: 50,
      conditionThreshold: 30,
      message: trigger.message,
      agentId: 'agent-1',
      triggeredAt: trigger.triggeredAt,
    });
  });

  it('signs id, timestamp and body with the secret', async () => {
    const tools = actionTools();
    await action.execute({ url: URL_, secret: SECRET, headers: { 'X-Team': 'a' } }, aTrigger(), tools);
    const request = tools.requests[0];
    const signed = `delivery-1.1772366400.${request?.body}`;
    expect(request?.headers).toEqual({
      'X-Team': 'a',
      'content-type': 'application/json',
      'webhook-id': 'delivery-1',
      'webhook-timestamp': '1772366400',
      'webhook-signature': `v1,${createHmac('sha256', KEY).update(signed).digest('base64')}`,
    });
  });

  it('does not sign without a secret', async () => {
    const tools = actionTools();
    await action.execute({ url: URL_ }, aTrigger(), tools);
    expect(tools.requests[0]?.headers).not.toHaveProperty('webhook-signature');
  });

  it.each([
    [answered(204), { kind: 'delivered', httpStatus: 204 }],
    [answered(410), { kind: 'rejected', disableDestination: true }],
    [answered(429, { 'retry-after': '30' }), { kind: 'retry', afterMs: 30_000, destinationDown: false }],
    [answered(503, { 'retry-after': 'Sun, 01 Mar 2026 12:01:00 GMT' }), { kind: 'retry', afterMs: 60_000 }],
    [answered(500, { 'retry-after': 'soon' }), { kind: 'retry', afterMs: undefined, destinationDown: true }],
    [answered(301), { kind: 'retry', reason: 'HTTP 301' }],
    [{ kind: 'unreachable', reason: 'timeout' } as const, { kind: 'retry', destinationDown: true }],
    [{ kind: 'refused', reason: 'private address' } as const, { kind: 'rejected' }],
  ])('turns %j into %j', async (response, outcome) => {
    expect(await action.execute({ url: URL_ }, aTrigger(), actionTools(response))).toMatchObject(outcome);
  });

  it.each([
    {},
    { url: 'file:///etc/passwd' },
    { url: URL_, secret: 'hunter2' },
    { url: URL_, secret: 'whsec_c2hvcnQ=' },
    { url: URL_, headers: { 'webhook-signature': 'v1,forged' } },
    { url: URL_, headers: { Host: 'other' } },
    { url: URL_, headers: { 'x-a': 'b\r\nx-c: d' } },
    { url: URL_, headers: { 'bad name': 'x' } },
  ])('rejects %j', (bad) => expect(action.config.safeParse(bad).success).toBe(false));
});

describe('signWebhook', () => {
  it("produces the signature of the specification's example", () => {
    // standard-webhooks/spec: msg_p5jXN8AQM9LWM0D4loKWxJek, timestamp 1614265330, body {"test": 2432232314}
    expect(
      signWebhook(
        'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
        'msg_p5jXN8AQM9LWM0D4loKWxJek',
        1614265330,
        '{"test": 2432232314}',
      ),
    ).toBe('v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=');
  });

  it('rejects a malformed secret', () => expect(() => signWebhook('x', 'id', 1, '')).toThrow('whsec_'));
});
