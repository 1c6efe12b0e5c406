// Sessions of the MCP proxy over HTTP, without the frameworks.
import { createServer, request, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { TestPlatform } from '@agentlens/sdk/testing';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { guardOf } from '../integrations/js/mcp-proxy/src/guard-of.ts';
import { HttpSessions } from '../integrations/js/mcp-proxy/src/http-sessions.ts';
import { type HttpProxy, serveHttp } from '../integrations/js/mcp-proxy/src/serve-http.ts';

const MAX_SESSIONS = 1_000;

describe('sessions over HTTP', () => {
  const sessions = async () => {
    const lens = await new TestPlatform().client();
    return new HttpSessions({ guard: guardOf(lens, { server: 'files' }), server: 'files' });
  };

  it('are bounded: ids that clients invent displace each other, and none that the server gave', async () => {
    const all = await sessions();
    const given = await all.find(undefined);
    all.name('given', given);
    const first = await all.find('invented-0');
    for (let i = 1; i < MAX_SESSIONS + 10; i++) await all.find(`invented-${i}`);
    expect(all.size).toBe(MAX_SESSIONS);
    expect(await all.find('given')).toBe(given);
    expect(await all.find('invented-0')).not.toBe(first);
    await all.close();
  });

  it('end if the server does not know the id, unless it gave it', async () => {
    const all = await sessions();
    await all.refused('invented', await all.find('invented'));
    expect(all.size).toBe(0);
    const given = await all.find(undefined);
    all.name('given', given);
    await all.refused('given', given);
    expect(all.size).toBe(1);
    await all.close();
  });
});

describe('the address of the proxy', () => {
  let upstream: Server;
  let proxy: HttpProxy;
  beforeEach(async () => {
    upstream = createServer((_, response) => response.writeHead(404).end());
    await new Promise<void>((resolve) => upstream.listen(0, '127.0.0.1', resolve));
    const { port } = upstream.address() as AddressInfo;
    const endpoint = { host: '127.0.0.1', port: 0, upstream: new URL(`http://127.0.0.1:${port}/mcp`) };
    const lens = await new TestPlatform().client();
    proxy = await serveHttp(lens, { ...endpoint, origins: ['https://tools.example'] }, { server: 'files' });
  });
  afterEach(async () => {
    await proxy.close();
    upstream.closeAllConnections();
    await new Promise((resolve) => upstream.close(resolve));
  });

  it.each([
    ['127.0.0.1:3410', 404],
    ['localhost', 404],
    ['[::1]:3410', 404],
    ['tools.example', 404],
    ['rebound.example', 403],
    ['127.0.0.1.rebound.example', 403],
  ])('answers the host %s with %d', async (host, status) => {
    const answered = await new Promise<number | undefined>((resolve, reject) => {
      const asked = request(proxy.url, { headers: { host } }, (response) => {
        response.resume();
        resolve(response.statusCode);
      });
      asked.on('error', reject).end();
    });
    expect(answered).toBe(status);
  });
});
