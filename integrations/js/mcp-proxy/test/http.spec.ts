import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type HttpProxy, serveHttp } from '@agentlens/mcp-proxy';
import { block, needApproval, TestPlatform } from '@agentlens/sdk/testing';
import { Client as ClientV2, StreamableHTTPClientTransport as HttpV2 } from '@modelcontextprotocol/client';
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as HttpV1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { type HttpServer, serveV1, serveV2 } from './mcp-http-server.ts';
import type { CallOptions, ToolResult } from './mcp-world.ts';

const INFO = { name: 'test-client', version: '1.0.0' };

interface HttpClient {
  call(path: string, options?: CallOptions): Promise<ToolResult>;
  close(): Promise<void>;
}

async function connectV1(url: string): Promise<HttpClient> {
  const client = new ClientV1(INFO);
  const transport = new HttpV1(new URL(url));
  await client.connect(transport);
  return {
    call: async (path, options) =>
      (await client.callTool({ name: 'write', arguments: { path } }, undefined, options)) as ToolResult,
    close: async () => {
      await transport.terminateSession();
      await client.close();
    },
  };
}

async function connectV2(url: string): Promise<HttpClient> {
  const client = new ClientV2(INFO, { versionNegotiation: { mode: 'auto' } });
  await client.connect(new HttpV2(new URL(url)));
  return {
    call: async (path, options) =>
      (await client.callTool({ name: 'write', arguments: { path } }, options)) as ToolResult,
    close: () => client.close(),
  };
}

interface HttpWorld {
  readonly platform: TestPlatform;
  readonly upstream: HttpServer;
  readonly proxy: HttpProxy;
  readonly client: HttpClient;
}

async function within(
  serve: () => Promise<HttpServer>,
  connect: (url: string) => Promise<HttpClient>,
  play: (world: HttpWorld) => Promise<void>,
): Promise<void> {
  const platform = new TestPlatform();
  const lens = await platform.client();
  const upstream = await serve();
  const proxy = await serveHttp(lens, { host: '127.0.0.1', port: 0, upstream: upstream.url }, { server: 'files' });
  const client = await connect(proxy.url);
  try {
    await play({ platform, upstream, proxy, client });
  } finally {
    await client.close();
    await proxy.close();
    await upstream.close();
    await lens.shutdown();
  }
}

const textOf = ({ content }: ToolResult) => content.map(({ text }) => text).join('');

for (const [name, serve, connect] of [
  ['protocol 2025-11-25, with sessions', serveV1, connectV1],
  ['protocol 2026-07-28, without sessions', serveV2, connectV2],
] as const) {
  void describe(`@agentlens/mcp-proxy over HTTP with ${name}`, () => {
    void it('passes on what is allowed and refuses what is not, saying why', () =>
      within(serve, connect, async ({ platform, upstream, client }) => {
        const isEtc = (args: unknown) => JSON.stringify(args).includes('/etc/');
        platform.rule({ tools: ['files.write'], when: ({ args }) => isEtc(args), answer: block('Not under /etc') });
        assert.equal(textOf(await client.call('/tmp/a')), 'written: /tmp/a');
        const refused = await client.call('/etc/passwd');
        assert.equal(refused.isError, true);
        assert.match(textOf(refused), /Not under \/etc/);
        assert.deepEqual(upstream.effects, ['/tmp/a']);
      }));

    void it('withholds a result', () =>
      within(serve, connect, async ({ platform, client }) => {
        platform.rule({ tools: ['files.write'], phases: ['tool.after'], answer: block('A secret') });
        const result = await client.call('/tmp/a');
        assert.match(textOf(result), /A secret/);
        assert.doesNotMatch(textOf(result), /written/);
      }));

    void it('tells the client that a human is asked, and passes on what he approves', () =>
      within(serve, connect, async ({ platform, upstream, client }) => {
        platform.rule({ tools: ['files.write'], answer: needApproval() });
        const told: string[] = [];
        const onprogress = ({ message = '' }) => {
          told.push(message);
          platform.approvals.approve();
        };
        assert.equal(textOf(await client.call('/tmp/a', { onprogress })), 'written: /tmp/a');
        assert.match(told[0] ?? '', /Waiting for a human/);
        assert.deepEqual(upstream.effects, ['/tmp/a']);
      }));
  });
}

void describe('@agentlens/mcp-proxy over HTTP', () => {
  void it('takes no call of a web page from elsewhere', () =>
    within(serveV1, connectV1, async ({ proxy }) => {
      const call = (origin: string) => fetch(proxy.url, { method: 'POST', headers: { origin }, body: '{}' });
      assert.equal((await call('https://evil.example')).status, 403);
      assert.notEqual((await call('http://localhost:5173')).status, 403);
    }));

  void it('says that it takes no batches', () =>
    within(serveV1, connectV1, async ({ proxy }) => {
      const answer = await fetch(proxy.url, { method: 'POST', body: '[{"id":1},{"id":2}]' });
      assert.equal(answer.status, 400);
      assert.match(await answer.text(), /one message at a time/);
    }));
});
