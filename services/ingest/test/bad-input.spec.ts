import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { type Answer, anEventBody, type Gateway, noted, startGateway } from './gateway.ts';

const BODY_LIMIT = 100_000;
const GOOD = JSON.stringify(noted(1));

/** Invalid events as JSON text, because some cannot be written otherwise, with the expected path and message. */
const BAD_EVENTS: readonly (readonly [name: string, json: string, path: string, message: RegExp])[] = [
  ['a text', '"hello"', 'events.0', /object/],
  ['null', 'null', 'events.0', /object/],
  ['a list', '[]', 'events.0', /object/],
  ['no session', eventJson({ sessionId: undefined }), 'events.0.sessionId', /./],
  ['an agent id of the wrong type', eventJson({ agentId: 7 }), 'events.0.agentId', /string/],
  ['an agent id too long', eventJson({ agentId: 'a'.repeat(257) }), 'events.0.agentId', /256/],
  ['an agent id with control characters', eventJson({ agentId: 'a\nb' }), 'events.0.agentId', /control/],
  ['an unknown event type', eventJson({ eventType: 'tool_cal' }), 'events.0.eventType', /did you mean "tool_call"/],
  ['a server-only event type', eventJson({ eventType: 'eval_result' }), 'events.0.eventType', /made by the server/],
  ['an unknown severity', eventJson({ severity: 'loud' }), 'events.0.severity', /debug, info, warn/],
  ['a payload of the wrong type', eventJson({ payload: 'x' }), 'events.0.payload', /./],
  ['a payload without its fields', eventJson({ payload: {} }), 'events.0.payload.type', /./],
  ['an infinite number', withData('{"n":1e400}'), 'events.0.payload.data.n', /text/],
  ['a negative infinite number in a list', withData('{"n":[1,-1e400]}'), 'events.0.payload.data.n.1', /text/],
  ['__proto__', withData('{"__proto__":{"admin":true}}'), 'events.0.payload.data.__proto__', /rename/],
  ['__proto__ on the event', `{"__proto__":1,${GOOD.slice(1)}`, 'events.0.__proto__', /rename/],
  ['a year 9999', eventJson({ timestamp: '9999-12-31T23:59:59Z' }), 'events.0.timestamp', /clock/],
  ['a time before retention', eventJson({ timestamp: '2025-11-30T00:00:00Z' }), 'events.0.timestamp', /clock/],
  ['a time too far ahead', eventJson({ timestamp: '2026-03-01T12:10:00.001Z' }), 'events.0.timestamp', /clock/],
  ['a time without offset', eventJson({ timestamp: '2026-03-01T12:00:00' }), 'events.0.timestamp', /RFC 3339/],
  ['33 levels', withData(nested(31)), `events.0.payload.data${'.a'.repeat(30)}`, /32 levels/],
  ['too many keys', withData(JSON.stringify(keyed(257))), 'events.0.payload.data', /256/],
  ['a very long key', withData(`{"${'k'.repeat(1025)}":1}`), `events.0.payload.data.${'k'.repeat(64)}…`, /1024/],
  ['a cost below zero', cost(-1), 'events.0.payload.costUsd', /negative/],
  ['a cost beyond reason', cost(1e300), 'events.0.payload.costUsd', /100000/],
];

function eventJson(fields: Record<string, unknown>): string {
  return JSON.stringify(anEventBody(fields));
}
function withData(json: string): string {
  return eventJson({ payload: { type: 't', data: 'DATA' } }).replace('"DATA"', json);
}
function nested(levels: number): string {
  return `${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`;
}
function keyed(count: number): Record<string, number> {
  return Object.fromEntries(Array.from({ length: count }, (_, n) => [`k${n}`, n]));
}
function cost(costUsd: number): string {
  return eventJson({ eventType: 'cost_tracked', payload: { model: 'm', costUsd } });
}

let gateway: Gateway;
beforeAll(async () => {
  gateway = await startGateway({ env: { AGENTLENS_HTTP_BODY_LIMIT_BYTES: String(BODY_LIMIT) } });
});
afterAll(() => gateway.close());
beforeEach(() => {
  gateway.batches.length = 0;
});

function expectProblem(answer: Answer, status: number): void {
  expect(answer.status).toBe(status);
  expect(answer.body).toMatchObject({ error: expect.any(String), status });
  expect(JSON.stringify(answer.body)).not.toMatch(/\bat .*\.(ts|js):\d+/);
}

describe.each(BAD_EVENTS)('an event with %s', (_name, json, path, message) => {
  it('gets 400 with the path and the fix, and nothing is accepted', async () => {
    const answer = await gateway.post(`{"events":[${json},${GOOD}]}`);
    expectProblem(answer, 400);
    expect(answer.body.error).toBe('Validation failed');
    expect(answer.body.details[0]).toEqual({ path, message: expect.stringMatching(message) });
    expect(gateway.batches).toEqual([]);
  });

  it('does not affect a valid one in partial mode', async () => {
    const answer = await gateway.post(`{"events":[${json},${GOOD}]}`, { query: '?partial=true' });
    expect(answer).toMatchObject({ status: 207, body: { ingested: 1, rejected: 1 } });
    expect(answer.body.results[0].error.details[0].path).toBe(path);
    expect(gateway.events().map(({ payload }) => payload)).toEqual([noted(1).payload]);
  });
});

describe('nesting of 100,000 levels', () => {
  const depth = 100_000;
  const deep = `{"events":[${withData(`${'['.repeat(depth)}${']'.repeat(depth)}`)},${GOOD}]}`;

  it('gets 400 and 207, never a crash', async () => {
    const roomy = await startGateway();
    const answer = await roomy.post(deep);
    expectProblem(answer, 400);
    expect(answer.body.details[0].message).toMatch(/32 levels/);
    const headers = { 'idempotency-key': 'deep' };
    expect(await roomy.post(deep, { query: '?partial=true', headers })).toMatchObject({
      status: 207,
      body: { ingested: 1, rejected: 1 },
    });
    await roomy.close();
  });
});

describe('lone surrogates and NUL characters', () => {
  it('are repaired in texts and keys without loss', async () => {
    const answer = await gateway.post(`{"events":[${withData('{"t":"cut \\ud83d","\\udc00k":["\\ud800"]}')}]}`);
    expect(answer.status).toBe(201);
    expect(gateway.events()[0]?.payload.data).toEqual({ t: 'cut \ufffd', '\ufffdk': ['\ufffd'] });
  });

  it('are reported as warnings, with the place of each', async () => {
    const answer = await gateway.post(`{"events":[${GOOD},${withData('{"t":"x\\u0000y","k\\u0000":1}')}]}`);
    expect(answer).toMatchObject({ status: 201, body: { ingested: 2 } });
    expect(answer.body.warnings).toEqual([
      { path: 'events.1.payload.data.t', message: expect.stringContaining('U+FFFD') },
      { path: 'events.1.payload.data.k\ufffd', message: expect.stringContaining('U+FFFD') },
    ]);
    expect(gateway.events()[1]?.payload.data).toEqual({ t: 'x\ufffdy', 'k\ufffd': 1 });
  });

  it('are reported with the event’s result in a partial batch', async () => {
    const answer = await gateway.post(
      { events: [noted(1), anEventBody({ id: 'a\u0000b' })] },
      { query: '?partial=true' },
    );
    expect(answer.body.results[0]).not.toHaveProperty('warnings');
    expect(answer.body.results[1]).toMatchObject({ status: 201, id: 'a\ufffdb', warnings: [{ path: 'events.1.id' }] });
  });

  it('are repaired in ids too', async () => {
    await gateway.post(`{"events":[{"id":"a\\ud800",${GOOD.slice(1)}]}`);
    expect(gateway.events()[0]?.id).toBe('a\ufffd');
  });
});

describe('an envelope', () => {
  it.each([
    ['[]', 'events', /array/],
    ['null', 'events', /array/],
    ['7', 'events', /array/],
    ['{}', 'events', /array/],
    ['{"events":{}}', 'events', /array/],
    ['{"events":[]}', 'events', /at least one/],
    [`{"events":[${Array(1001).fill('1').join(',')}]}`, 'events', /at most 1000/],
  ])('%.20s gets 400 naming events', async (body, path, message) => {
    const answer = await gateway.post(body);
    expectProblem(answer, 400);
    expect(answer.body.details).toEqual([{ path, message: expect.stringMatching(message) }]);
  });

  it.each(['{"events":[', '{"events":[1}', 'hello', '{"events":[\u0000]}'])(
    '%p gets 400 as malformed JSON',
    async (body) => {
      const answer = await gateway.post(body);
      expectProblem(answer, 400);
      expect(answer.body.error).toBe('Invalid JSON body');
    },
  );

  it('without a body gets 400', async () => {
    expectProblem(await gateway.post(''), 400);
  });

  it('over the body limit gets 413 with the limit', async () => {
    const answer = await gateway.post({ events: [anEventBody({ metadata: { text: 'x'.repeat(BODY_LIMIT) } })] });
    expectProblem(answer, 413);
    expect(answer.body.maxSize).toBe(BODY_LIMIT);
  });

  it('reports at most 20 details', async () => {
    const answer = await gateway.post({ events: Array(100).fill(1) });
    expect(answer.body.details).toHaveLength(20);
  });

  it.each(['text/plain', 'application/x-www-form-urlencoded', 'application/xml'])('as %s gets 415', async (type) => {
    const answer = await gateway.post(`{"events":[${GOOD}]}`, { headers: { 'content-type': type } });
    expectProblem(answer, 415);
  });

  it.each(['application/json; charset=utf-8', 'application/vnd.acme+json'])('as %s is accepted', async (type) => {
    expect((await gateway.post(`{"events":[${GOOD}]}`, { headers: { 'content-type': type } })).status).toBe(201);
  });

  it.each(['', ' ', 'x'.repeat(256), 'ü'])('with the Idempotency-Key %p gets 400', async (key) => {
    const answer = await gateway.post({ events: [noted(1)] }, { headers: { 'idempotency-key': key } });
    expectProblem(answer, 400);
    expect(answer.body.details[0].path).toBe('headers.idempotency-key');
  });

  it('with an invalid value of partial gets 400', async () => {
    const answer = await gateway.post({ events: [noted(1)] }, { query: '?partial=maybe' });
    expectProblem(answer, 400);
    expect(answer.body.details[0].path).toBe('query.partial');
  });
});

describe('an unknown parameter', () => {
  it('gets 400 with a suggestion', async () => {
    const answer = await gateway.post({ events: [noted(1)] }, { query: '?partail=true' });
    expectProblem(answer, 400);
    expect(answer.body).toMatchObject({ code: 'invalid_request', requestId: answer.headers['x-request-id'] });
    expect(answer.body.details).toEqual([
      { path: 'query.partail', message: 'unknown parameter "partail"; did you mean "partial"? Known: partial' },
    ]);
    expect(gateway.batches).toEqual([]);
  });

  it('is ignored by the agent protocol, because a rejection would let the call pass', async () => {
    const answer = await gateway.inject({
      method: 'POST',
      url: '/v1/runs/run-1/heartbeat?trace=1',
      headers: { authorization: `Bearer ${gateway.keys.agent}`, 'content-type': 'application/json' },
      payload: { agentId: 'agent-1' },
    });
    expect(answer.status).toBe(200);
  });
});

describe('large events', () => {
  it('over the size of a message get 400 with the index and the limit', async () => {
    const roomy = await startGateway();
    const metadata = Object.fromEntries(['a', 'b', 'c', 'd'].map((key) => [key, 'x'.repeat(250_000)]));
    const answer = await roomy.post({ events: [noted(1), anEventBody({ metadata })] });
    expectProblem(answer, 400);
    expect(answer.body.details).toEqual([{ path: 'events.1', message: expect.stringMatching(/990000/) }]);
    await roomy.close();
  });

  it('with a text over its limit get 400 with the path', async () => {
    const roomy = await startGateway();
    const answer = await roomy.post({ events: [anEventBody({ metadata: { text: 'x'.repeat(262_145) } })] });
    expectProblem(answer, 400);
    expect(answer.body.details[0]).toEqual({
      path: 'events.0.metadata.text',
      message: expect.stringMatching(/262144/),
    });
    await roomy.close();
  });
});

describe('a caller', () => {
  const body = JSON.stringify({ events: [noted(1)] });
  const request = (headers: Record<string, string>) =>
    gateway.inject({
      method: 'POST',
      url: '/api/events',
      headers: { 'content-type': 'application/json', ...headers },
      payload: body,
    });

  it('without a key gets 401', async () => {
    const answer = await request({});
    expectProblem(answer, 401);
    expect(answer.body.hint).toMatch(/Authorization/);
  });

  it('with a revoked or unknown key gets 401', async () => {
    expectProblem(await gateway.post(body, { key: gateway.keys.revoked }), 401);
    expectProblem(await gateway.post(body, { key: 'als_0123' }), 401);
  });

  it('with a key of another scope gets 403 naming the scope', async () => {
    const answer = await gateway.post(body, { key: gateway.keys.reader });
    expectProblem(answer, 403);
    expect(answer.body.hint).toMatch(/ingest/);
    expect(gateway.batches).toEqual([]);
  });
});
