import { createServer, type Server } from 'node:http';
import { type AddressInfo } from 'node:net';
import { createClient, ProblemError, pages } from '@agentlens/client';
import { agentEvents } from '@agentlens/contracts';
import { aBatch, anEvent } from '@agentlens/testing';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { NOW, type OperatorApi, startOperatorApi } from './operator-api.ts';
import { aRunRow } from './rows.ts';

let api: OperatorApi;
let baseUrl: string;
const ending: AbortController[] = [];

beforeAll(async () => {
  api = await startOperatorApi();
  for (const n of [1, 2, 3, 4, 5]) {
    await api.insert('runs', aRunRow({ run_id: `team/run ${n}`, started_at: `2026-03-01T10:0${n}:00.000Z` }));
  }
  await api.app.listen(0, '127.0.0.1');
  baseUrl = await api.app.getUrl();
});
afterAll(async () => {
  api.app.getHttpServer().closeAllConnections();
  await api.close();
});
afterEach(() => {
  for (const controller of ending.splice(0)) controller.abort();
});

const clientOf = (key: string | (() => string) = api.keys.admin.key) => createClient({ baseUrl, key });

describe('the typed client', () => {
  it('reads one item by its path, with any characters in its id', async () => {
    const run = await clientOf().getRun({ params: { id: 'team/run 1' } });
    expect(run).toMatchObject({ id: 'team/run 1', tenantId: 'acme', summary: { success: false } });
  });

  it('encodes numbers, flags and lists for the query', async () => {
    const { runs, hasMore } = await clientOf().listRuns({ query: { limit: 2, status: ['running', 'failed'] } });
    expect(runs.map(({ id }) => id)).toEqual(['team/run 5', 'team/run 4']);
    expect(hasMore).toBe(true);
    await expect(clientOf().listSessions({ query: { countOnly: true } })).resolves.toEqual({ count: 5 });
  });

  it('walks all pages of a list', async () => {
    const seen: string[][] = [];
    for await (const { runs } of pages(clientOf().listRuns, { query: { limit: 2, agentId: 'agent-1' } })) {
      seen.push(runs.map(({ id }) => id.slice(-1)));
    }
    expect(seen).toEqual([['5', '4'], ['3', '2'], ['1']]);
  });

  it('creates a key with a body, and uses a key that a function returns', async () => {
    const { key } = await clientOf().createKey({ body: { name: 'made', scopes: ['read'] } });
    await expect(clientOf(() => key).getSettings()).resolves.toMatchObject({ decisionFailMode: 'allow' });
  });

  it('throws an error response with the cause and the fix', async () => {
    const refused = clientOf().listRuns({ query: { limit: 0 } });
    await expect(refused).rejects.toBeInstanceOf(ProblemError);
    await expect(refused).rejects.toMatchObject({
      message: 'Validation failed',
      status: 400,
      details: [{ path: 'limit', message: 'must be a whole number from 1 to 500' }],
      requestId: expect.any(String),
    });
    const forbidden = clientOf(api.keys.reader.key).listKeys();
    await expect(forbidden).rejects.toMatchObject({ status: 403, body: { required: ['admin', 'platform'] } });
    const missing = clientOf().getRun({ params: { id: 'none' } });
    await expect(missing).rejects.toMatchObject({ status: 404, hint: expect.stringContaining('tenant') });
  });

  it('yields typed frames of a stream and resumes after the last one if the connection is lost', async () => {
    const controller = new AbortController();
    ending.push(controller);
    const stream = clientOf().openStream({ query: { agentId: 'agent-1' }, signal: controller.signal });
    const ids: string[] = [];
    for await (const frame of stream) {
      if (frame.event === 'heartbeat' && ids.length === 0) await publish('one');
      if (frame.event !== 'event') continue;
      ids.push(frame.data.id);
      if (frame.data.id === 'one') {
        api.app.getHttpServer().closeAllConnections();
        await publish('two');
      }
      if (frame.data.id === 'two') break;
    }
    expect(ids).toEqual(['one', 'two']);
  });

  it('ends the iteration of a stream when its signal fires, and throws if the key is rejected', async () => {
    const controller = new AbortController();
    const kinds: string[] = [];
    for await (const { event } of clientOf().openStream({ signal: controller.signal })) {
      kinds.push(event);
      controller.abort();
    }
    expect(kinds).toEqual(['heartbeat']);
    await expect(clientOf('agk_live_nonsense').openStream().next()).rejects.toMatchObject({ status: 401 });
  });
});

const publish = (id: string) =>
  api.bus.publish(agentEvents, aBatch({ events: [anEvent({ id, agentId: 'agent-1' })], receivedAt: NOW }));

describe('the requests of the client', () => {
  let server: Server;
  const heard: { url: string; headers: Record<string, unknown>; method: string }[] = [];
  const reply = { status: 200, body: '{}', headers: {} as Record<string, string>, hangs: false };

  beforeAll(async () => {
    server = createServer((request, response) => {
      heard.push({ url: request.url ?? '', headers: request.headers, method: request.method ?? '' });
      if (reply.hangs) return;
      response.writeHead(reply.status, reply.headers).end(reply.body);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  });
  afterAll(() => {
    server.closeAllConnections();
    server.close();
  });
  afterEach(() => {
    heard.length = 0;
    Object.assign(reply, { status: 200, body: '{}', headers: {}, hangs: false });
  });
  const there = () => `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

  it('keep the path prefix of the base address and send call options as headers', async () => {
    const client = createClient({ baseUrl: `${there()}/lens/`, headers: { 'x-trace': 't' } });
    const body = { name: 'n', scope: 'tenant', period: 'day', limitUsd: 1 } as const;
    await client.createBudget({ body, idempotencyKey: 'once', ifMatch: 3 });
    expect(heard).toMatchObject([
      {
        method: 'POST',
        url: '/lens/api/budgets',
        headers: { 'idempotency-key': 'once', 'if-match': '"3"', 'x-trace': 't' },
      },
    ]);
    expect(heard[0]?.headers).not.toHaveProperty('authorization');
  });

  it('time out at the deadline and stop when the caller aborts', async () => {
    reply.hangs = true;
    const client = createClient({ baseUrl: there(), timeoutMs: 50 });
    await expect(client.getStats()).rejects.toMatchObject({ name: 'TimeoutError' });
    const controller = new AbortController();
    const asked = client.getStats({ signal: controller.signal, timeoutMs: 60_000 });
    controller.abort();
    await expect(asked).rejects.toMatchObject({ name: 'AbortError' });
  });

  it('report Retry-After, and return a response of a proxy as it is', async () => {
    Object.assign(reply, { status: 502, body: '<html>', headers: { 'retry-after': '7' } });
    await expect(createClient({ baseUrl: there() }).getStats()).rejects.toMatchObject({
      message: 'HTTP 502',
      retryAfterMs: 7_000,
      body: '<html>',
    });
  });
});
