import { type IncomingMessage, request } from 'node:http';
import { QUERY_OPERATIONS } from '@agentlens/operations';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { type OperatorApi, startOperatorApi } from './operator-api.ts';

let api: OperatorApi;
let address: string;
beforeAll(async () => {
  api = await startOperatorApi();
  await api.app.listen(0, '127.0.0.1');
  address = await api.app.getUrl();
});
afterAll(async () => {
  api.app.getHttpServer().closeAllConnections();
  await api.close();
});

const reads = QUERY_OPERATIONS.filter((op) => op.method === 'get' && op.scope !== null && op.contentType === undefined);
const lists = reads.filter((op) => op.query !== undefined && 'cursor' in parameterNames(op.query));

function parameterNames(schema: object): Record<string, unknown> {
  return (schema as { shape?: Record<string, unknown> }).shape ?? {};
}

const NAMES = [
  'limit',
  'offset',
  'cursor',
  'from',
  'to',
  'range',
  'order',
  'status',
  'severity',
  'eventType',
  'result',
  'tags',
  'tagsAll',
  'search',
  'agentId',
  'sessionId',
  'parentRunId',
  'actorId',
  'model',
  'minCostUsd',
  'maxCostUsd',
  'ruleId',
  'triggerId',
  'runId',
  'kind',
  'scope',
  'scopeId',
  'id',
  'state',
  'enabled',
  'paused',
  'window',
  'granularity',
  'countOnly',
  'excludeMetrics',
  '__proto__',
];

const NASTY = [
  '',
  'abc',
  '-1',
  '0',
  '1e400',
  'NaN',
  '99999999999999999999',
  '%00',
  'a%00b',
  '%ED%A0%80',
  '%F0%9F%98%80',
  "';drop table events;--",
  '0000-01-01T00:00:00Z',
  '9999-12-31T23:59:59-12:00',
  '2026-02-30',
  'eyJ2IjoxfQ',
  '%',
  ',,,',
  '__proto__',
  'constructor',
];

const value = fc.oneof(
  fc.constantFrom(...NASTY),
  fc.string({ unit: 'binary', maxLength: 40 }).map((text) => encodeURIComponent(text.toWellFormed())),
);
const query = fc
  .array(fc.tuple(fc.constantFrom(...NAMES), value), { maxLength: 4 })
  .map((pairs) => pairs.map(([name, text]) => `${name}=${text}`).join('&'));

describe('texts that the database cannot store', () => {
  const writes = QUERY_OPERATIONS.filter((op) => op.body !== undefined && op.forwarded !== true);

  it.each(writes.map((op) => [op.method.toUpperCase(), op.path]))('are refused by %s %s', async (method, path) => {
    for (const [name, body] of [
      ['note', { note: 'a\u0000b' }],
      ['deep.0', { deep: ['half \ud83d'] }],
    ] as const) {
      const { status, body: problem } = await api.call(method as 'POST', path.replace(/:\w+/g, 'x'), { body });
      expect({ status, problem }).toMatchObject({
        status: 400,
        problem: { details: [{ path: name, message: expect.stringContaining('NUL or a lone surrogate') }] },
      });
    }
  });
});

describe('bad parameters', () => {
  it.each(reads.map((op) => op.path))('never break GET %s', async (path) => {
    await fc.assert(
      fc.asyncProperty(query, value, async (text, id) => {
        const { status, body } = await api.get(`${path.replace(':id', id || 'x')}?${text}`);
        // The owner of votes is not here to answer.
        const possible = path.endsWith('/votes') ? [400, 503] : [200, 400, 404];
        expect(possible).toContain(status);
        if (status !== 200) expect(body).toMatchObject({ error: expect.any(String), status });
      }),
      { numRuns: 25 },
    );
  });

  it.each(lists.map((op) => op.path))('are named in the response of GET %s', async (path) => {
    const url = path.replace(':id', 'x');
    const limit = await api.get(`${url}?limit=abc`);
    expect(limit).toMatchObject({
      status: 400,
      body: {
        error: 'Validation failed',
        details: [{ path: 'limit', message: expect.stringMatching(/^must be a whole number from 1 to \d+$/) }],
      },
    });
    expect(limit.headers['cache-control']).toBe('no-store');
    const cursor = await api.get(`${url}?cursor=bm90IGEgY3Vyc29y`);
    expect(cursor).toMatchObject({
      status: 400,
      body: { details: [{ path: 'cursor', message: expect.stringContaining('start over') }] },
    });
  });

  it.each([
    ['/api/events?from=2026-03-02&to=2026-03-01', 'from'],
    ['/api/events?severity=fatal', 'severity.0'],
    ['/api/events?search=%00', 'search'],
    ['/api/runs?search=a%00b', 'search'],
    ['/api/runs/facets?search=a%00b', 'search'],
    ['/api/search/text?text=a%00bc', 'text'],
    ['/api/events?limit=501', 'limit'],
    ['/api/events?limit=1&limit=2', 'limit'],
    ['/api/guardrails/history?result=won', 'result.0'],
    ['/api/guardrails/history?from=0000-01-01T00:00:00Z', 'from'],
    ['/api/runs?status=done', 'status.0'],
    ['/api/runs?minCostUsd=-1', 'minCostUsd'],
    ['/api/runs?minCostUsd=1e3', 'minCostUsd'],
    ['/api/runs?maxCostUsd=0.1234567', 'maxCostUsd'],
    ['/api/runs?minCostUsd=2&maxCostUsd=1', 'minCostUsd'],
    ['/api/runs?limit=501', 'limit'],
    ['/api/runs/r/timeline?limit=501', 'limit'],
    ['/api/metrics?granularity=minute', 'granularity'],
    ['/api/metrics?from=2026-01-01&to=2026-01-08&range=7d', 'range'],
    ['/api/metrics?granularity=hour&range=40d', 'range'],
    ['/api/sessions?status=done', 'status.0'],
    ['/api/sessions?offset=-1', 'offset'],
    ['/api/agents/a/health?window=0', 'window'],
    ['/api/health/overview?window=91', 'window'],
    ['/api/analytics?granularity=minute', 'granularity'],
    ['/api/analytics?range=7', 'range'],
    ['/api/stream?lastEventId=12', 'lastEventId'],
    ['/api/guardrails/a%00b', 'id'],
    ['/api/alerts?status=open', 'status.0'],
    ['/api/alerts?kind=approval,rules', 'kind.1'],
    ['/api/alerts?runId=a%00b', 'runId'],
    ['/api/alerts/stream?lastEventId=1.2-3', 'lastEventId'],
    ['/api/control?scope=fleet', 'scope.0'],
    ['/api/breakers?state=broken', 'state.0'],
    ['/api/budgets?enabled=maybe', 'enabled'],
  ])('%s is rejected because of "%s"', async (url, path) => {
    const answer = await api.get(url);
    expect(answer).toMatchObject({ status: 400, body: { status: 400, details: [{ path }] } });
  });

  it('rejects a cursor of another list', async () => {
    const foreign = Buffer.from(JSON.stringify({ v: 1, list: 'events', at: '2026-03-01T12:00:00.000Z', id: 'a' }));
    expect((await api.get(`/api/sessions?cursor=${foreign.toString('base64url')}`)).status).toBe(400);
  });

  it('looks up or rejects an id of any length, and never misroutes it', async () => {
    expect(await api.get(`/api/agents/${'%F0%9F%98%80'.repeat(128)}`)).toMatchObject({
      status: 404,
      body: { error: 'Agent not found' },
    });
    expect((await api.get(`/api/agents/${'a'.repeat(257)}`)).status).toBe(400);
  });

  it('returns 404 for an unknown route', async () => {
    expect(await api.get('/api/nothing')).toMatchObject({
      status: 404,
      body: { error: 'Route not found', status: 404 },
    });
  });
});

describe('unknown parameters', () => {
  const methods = QUERY_OPERATIONS.filter((op) => op.scope !== null);

  it.each(methods.map((op) => [`${op.method} ${op.path}`, op] as const))('are rejected by %s', async (_name, op) => {
    const path = op.path.replace(':scope', 'run').replace(':id', 'x');
    const { status, body } = await api.call(op.method.toUpperCase() as 'GET', `${path}?limitt=1`);
    expect(status).toBe(400);
    const nearest = 'limit' in (op.query?.shape ?? {}) ? 'did you mean "limit"?' : 'unknown parameter "limitt"';
    expect(body.details).toEqual([{ path: 'limitt', message: expect.stringContaining(nearest) }]);
  });
});

describe('methods that a path does not support', () => {
  it.each([
    ['PATCH', '/api/runs', 'GET, HEAD'],
    ['TRACE', '/api/runs/x', 'DELETE, GET, HEAD'],
    ['PROPFIND', '/api/guardrails/x', 'DELETE, GET, HEAD, PATCH, PUT'],
    ['OPTIONS', '/api/budgets', 'GET, HEAD, POST'],
  ])('get 405 with the supported methods: %s %s', async (method, path, allow) => {
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
    request(`${address}${path}`, { method }, resolve).on('error', reject).end();
    const answer = await promise;
    answer.resume();
    expect(answer.statusCode).toBe(405);
    expect(answer.headers.allow).toBe(allow);
  });
});

describe('bad bodies', () => {
  const bodies: unknown[] = [
    null,
    [],
    'text',
    1,
    { name: 1 },
    { scopes: [] },
    { scopes: ['root'] },
    { tenantId: 'globex' },
  ];

  it.each(bodies.map((body) => [JSON.stringify(body), body]))('rejects %s as a key', async (_text, body) => {
    const { status, body: problem } = await api.call('POST', '/api/keys', { body });
    expect(status).toBe(400);
    expect(problem).toMatchObject({ error: expect.any(String), status: 400 });
  });

  it.each([
    ['PUT', '/api/agents/x/unpause'],
    ['POST', '/api/alerts/x/approve'],
    ['POST', '/api/control'],
    ['PUT', '/api/breakers/limits'],
    ['PUT', '/api/settings'],
    ['PUT', '/api/trees/limits'],
  ] as const)('null is rejected by %s %s, which documents an object', async (method, path) => {
    expect(await api.call(method, path, { body: null })).toMatchObject({
      status: 400,
      body: { code: 'invalid_request' },
    });
  });

  it('rejects malformed JSON', async () => {
    const answer = await api.app.inject({
      method: 'POST',
      url: '/api/keys',
      headers: { authorization: `Bearer ${api.keys.admin.key}`, 'content-type': 'application/json' },
      payload: '{"name": ',
    });
    expect(answer.statusCode).toBe(400);
    expect(answer.json()).toMatchObject({ error: 'Invalid JSON body', status: 400 });
  });
});
