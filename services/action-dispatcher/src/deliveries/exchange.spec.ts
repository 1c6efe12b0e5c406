import { DeliveryExchange, MAX_ANSWERED_BODY_BYTES, MAX_SENT_BODY_BYTES } from '@agentlens/contracts';
import type { ActionRequest, ActionResponse } from '@agentlens/guardrails';
import { describe, expect, it } from '@jest/globals';
import { exchangeOf } from './exchange.ts';

const request = (fields: Partial<ActionRequest> = {}): ActionRequest => ({
  method: 'POST',
  url: 'https://hooks.example/services/T0000/B0000?key=query-secret',
  headers: {
    ...{ 'content-type': 'application/json', 'webhook-id': 'd-1', 'webhook-signature': 'v1,c2lnbmF0dXJl' },
    ...{ Authorization: 'Bearer top-secret', 'X-Team': 'blue-team' },
  },
  body: '{"data":{"message":"mail ann@example.com"},"apiKey":"k"}',
  ...fields,
});
const answered = (body: string, headers = {}): ActionResponse => ({ kind: 'answered', status: 500, headers, body });

describe('the stored exchange of an attempt', () => {
  it('contains the request without its secrets and personal data', () => {
    const kept = exchangeOf(request(), answered(''));
    expect(DeliveryExchange.parse(kept)).toEqual(kept);
    expect(kept).toEqual({
      request: {
        method: 'POST',
        origin: 'https://hooks.example',
        headers: {
          ...{ 'content-type': 'application/json', 'webhook-id': 'd-1', 'webhook-signature': '[masked]' },
          ...{ Authorization: '[masked]', 'X-Team': '[masked]' },
        },
        body: '{"data":{"message":"mail [email]"},"apiKey":"[secret]"}',
        bodyBytes: 56,
        bodyCut: false,
      },
      response: { status: 500, headers: {}, body: null, bodyBytes: 0, bodyCut: false },
    });
  });

  it('masks secrets that the receiver repeats', () => {
    const body = 'no Bearer top-secret (top-secret) at /services/T0000/B0000?key=query-secret; key query-secret';
    const { response } = exchangeOf(request(), answered(body, { 'Set-Cookie': 'a=b', 'Retry-After': '5' }));
    expect(response).toMatchObject({
      body: 'no [masked] ([masked]) at [masked]; key [masked]',
      headers: { 'Set-Cookie': '[masked]', 'Retry-After': '5' },
    });
  });

  it('says how long a body was that is cut, between two characters', () => {
    const body = 'é'.repeat(MAX_SENT_BODY_BYTES);
    const { request: sent, response } = exchangeOf(request({ body }), answered(`x${body}`));
    expect(sent).toMatchObject({ bodyBytes: 2 * MAX_SENT_BODY_BYTES, bodyCut: true });
    expect(sent.body).toBe('é'.repeat(MAX_SENT_BODY_BYTES / 2));
    expect(response?.body).toBe(`x${'é'.repeat(MAX_ANSWERED_BODY_BYTES / 2 - 1)}`);
    expect(exchangeOf(request({ body: 'a'.repeat(2 ** 20 + 1) }), undefined).request).toMatchObject({
      ...{ body: '[too long]', bodyCut: true },
    });
  });

  it('redacts before it cuts', () => {
    const body = `${'a '.repeat(MAX_ANSWERED_BODY_BYTES / 2 - 2)} ann@example.com`;
    expect(exchangeOf(request(), answered(body)).response?.body).not.toContain('ann');
  });

  it('has no response if none arrived', () => {
    expect(exchangeOf(request(), { kind: 'unreachable', reason: 'timeout' }).response).toBeNull();
    expect(exchangeOf(request({ body: undefined }), undefined)).toMatchObject({
      ...{ request: { body: null, bodyBytes: 0 }, response: null },
    });
  });

  it.each(['a\u0000b', '"a\\u0000b"', 'half \ud83d'])('contains only text that Postgres accepts: %j', (body) => {
    const kept = exchangeOf(request(), answered(body, { [body]: 'name', server: body }));
    const texts = [kept.response?.body ?? '', ...Object.entries(kept.response?.headers ?? {}).flat()];
    for (const text of texts) expect([text.includes('\u0000'), text.isWellFormed()]).toEqual([false, true]);
  });
});
