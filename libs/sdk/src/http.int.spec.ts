import { execFile } from 'node:child_process';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { promisify } from 'node:util';
import { eventually } from '@agentlens/testing';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { AgentLens, type AgentLensClient } from './client.ts';
import type { AgentLensOptions } from './options.ts';
import { createRuntime as createWebRuntime } from './runtime/web.ts';
import { block, TestPlatform } from './testing/index.ts';

/** Serves the test double over a real socket, to test the wire format. */
async function listen(double: TestPlatform, hanging: () => boolean): Promise<Server> {
  const server = createServer((request, response) => {
    if (hanging()) return;
    void relay(double, request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return server;
}

async function relay(double: TestPlatform, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const gone = new AbortController();
  response.on('close', () => gone.abort());
  let body = '';
  for await (const chunk of request.setEncoding('utf8')) body += chunk;
  const call = {
    method: request.method as 'POST',
    url: `http://double${request.url}`,
    headers: request.headers as Record<string, string>,
    ...(body === '' ? {} : { body }),
    signal: gone.signal,
  };
  if (request.headers.authorization !== `Bearer ${double.apiKey}`) {
    response.writeHead(401).end('{}');
    return;
  }
  if (!call.url.includes('/v1/control/') || request.method === 'POST') {
    const answer = await double.http.call(call);
    const etag = answer.header('etag');
    response.writeHead(answer.status, { 'content-type': 'application/json', ...(etag === undefined ? {} : { etag }) });
    response.end(answer.text);
    return;
  }
  const stream = await double.http.stream(call);
  response.writeHead(stream.status, { 'content-type': stream.contentType });
  for await (const chunk of stream.chunks) response.write(chunk);
  response.end();
}

let double: TestPlatform;
let server: Server;
let hangs: boolean;
const clients: AgentLensClient[] = [];

beforeEach(async () => {
  double = new TestPlatform();
  hangs = false;
  server = await listen(double, () => hangs);
});
afterEach(async () => {
  hangs = false;
  await Promise.all(clients.splice(0).map((client) => client.shutdown()));
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

async function connect(options: Partial<AgentLensOptions> = {}): Promise<AgentLensClient> {
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  const client = await AgentLens.init({
    apiKey: double.apiKey,
    baseUrl,
    agent: { slug: 'a' },
    drainMs: 1_000,
    // The test machine may be busy, and this does not test speed.
    deadlineMs: 10_000,
    ...options,
  });
  clients.push(client);
  return client;
}

describe('a process with the SDK', () => {
  it('exits when its work is done, with the order stream open and without shutdown', async () => {
    const { port } = server.address() as AddressInfo;
    const work = `
      import { AgentLens } from '@agentlens/sdk';
      const client = await AgentLens.init({
        apiKey: ${JSON.stringify(double.apiKey)}, baseUrl: 'http://127.0.0.1:${port}', agent: { slug: 'a' },
      });
      while (!client.status.connected) await new Promise((resolve) => setTimeout(resolve, 5));
      const run = await client.startRun();
      await run.beforeTool('t', {});
      await run.end();
      console.log(JSON.stringify(client.status.events));
    `;
    const flags = ['--conditions=@agentlens/source', '--disable-warning=ExperimentalWarning', '--input-type=module'];
    const { stdout } = await promisify(execFile)(process.execPath, [...flags, '-e', work], {
      cwd: import.meta.dirname,
    });
    expect(JSON.parse(stdout)).toEqual({ enqueued: 3, delivered: 3, dropped: 0, waiting: 0 });
  });
});

describe.each([
  ['undici', {}],
  ['fetch', { runtime: { http: createWebRuntime().http } }],
] as const)('over real HTTP with %s', (_, options) => {
  it('a run is reported, decided and ended', async () => {
    double.rule({ tools: ['rm'], answer: block('no') });
    const client = await connect(options);
    const run = await client.startRun({ runId: 'run/1 ü' });
    expect(await run.beforeTool('rm', { text: '😀' })).toMatchObject({ verdict: 'BLOCK', source: 'remote' });
    expect(await run.beforeTool('ls', {})).toMatchObject({ verdict: 'ALLOW', source: 'remote' });
    await run.afterTool('ls', {}, 'x'.repeat(100_000));
    await run.end();
    expect(double.runs).toMatchObject([{ id: 'run/1 ü', status: 'success' }]);
    expect(double.events.map(({ kind }) => kind)).toEqual([
      'run.started',
      'tool.decision',
      'tool.decision',
      'tool.result',
      'run.ended',
    ]);
    const batches = double.calls.filter(({ path }) => path === '/v1/runs/events');
    for (const { headers } of batches) expect(headers['idempotency-key']).toMatch(/^[0-9a-f-]{36}$/);
  });

  it('unchanged rules are not sent again', async () => {
    const statuses: number[] = [];
    server.on('request', (request: IncomingMessage, response: ServerResponse) => {
      if (request.url?.startsWith('/v1/rules/bundle')) response.on('finish', () => statuses.push(response.statusCode));
    });
    double.offerBundle({ version: 1, ttlSeconds: 60, askAlways: [], rules: [] });
    const client = await connect({ ...options, control: 'stream' });
    await eventually(() => expect([client.status.rulesVersion, client.status.connected]).toEqual([1, true]));
    double.offerBundle({ version: 2, ttlSeconds: 60, askAlways: [], rules: [] });
    await eventually(() => expect(statuses.slice(0, 2)).toEqual([200, 304]));
    double.offerBundle({ version: 3, ttlSeconds: 60, askAlways: ['llm.before'], rules: [] });
    await eventually(() => expect(client.status.rulesVersion).toBe(3));
  });

  it('a run is killed while it waits, and the order is acknowledged', async () => {
    const client = await connect({ ...options, control: 'stream' });
    const run = await client.startRun();
    await eventually(() => expect(client.status.connected).toBe(true));
    const stopped = new Promise((resolve) => run.signal.addEventListener('abort', resolve));
    double.control.kill(run.id);
    await stopped;
    expect(await run.beforeTool('t', {})).toMatchObject({ verdict: 'BLOCK', source: 'local' });
    await eventually(() => expect(double.control.acknowledgements).toHaveLength(1));
  });

  it('a server that accepts but never answers does not hang the agent', async () => {
    const client = await connect({ ...options, deadlineMs: 1_000, drainMs: 200, sink: { sendTimeoutMs: 100 } });
    const run = await client.startRun();
    hangs = true;
    expect(await run.beforeTool('t', {})).toMatchObject({ verdict: 'ALLOW', bypass: 'deadline' });
    await run.end();
    hangs = false;
    await client.drain(5_000);
    expect(client.status.events).toMatchObject({ dropped: 0, waiting: 0 });
  });

  it('a stopped server counts as unavailable', async () => {
    const client = await connect({ ...options, failMode: 'closed', drainMs: 50 });
    const run = await client.startRun();
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
    expect(await run.beforeTool('t', {})).toMatchObject({ verdict: 'BLOCK', bypass: 'unavailable' });
    await run.end();
    server.listen(0);
  });

  it('a rejected key is an error', async () => {
    await expect(connect({ ...options, apiKey: 'als_wrong' })).rejects.toThrow('the key was refused (401)');
  });
});
