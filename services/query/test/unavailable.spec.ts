import { createServer, type Server } from 'node:net';
import { createMemoryBus } from '@agentlens/messaging';
import { getServiceHealth } from '@agentlens/operations';
import { assemblePlatform, createHttpApp, createLogger, loadConfig, newApiKey } from '@agentlens/platform';
import { createMemoryState } from '@agentlens/state';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { QueryModule } from '../src/index.ts';

const { key } = newApiKey();
let app: NestFastifyApplication;
/** Closes every connection, like a database that is shutting down. */
let hangsUp: Server;

beforeAll(async () => {
  hangsUp = createServer((socket) => socket.on('error', () => undefined).end());
  await new Promise<void>((resolve) => hangsUp.listen(0, '127.0.0.1', resolve));
  const address = hangsUp.address();
  const port = address !== null && typeof address === 'object' ? address.port : 0;
  const platform = {
    ...assemblePlatform({
      config: loadConfig('standalone', {}),
      bus: createMemoryBus(),
      state: createMemoryState(),
      databaseUrl: `postgres://nobody@127.0.0.1:${port}/none`,
      secretKeys: [Buffer.alloc(32).toString('base64')],
      logger: createLogger({ name: 'query', level: 'fatal' }),
    }),
    keys: {
      check: async () => ({
        kind: 'accepted' as const,
        caller: { tenantId: 'acme', keyId: 'k', scopes: ['admin' as const], eventsPerSecond: 1 },
      }),
    },
  };
  app = await createHttpApp(platform, [QueryModule.register(platform)]);
  await app.init();
  await app.getHttpAdapter().getInstance().ready();
});
afterAll(async () => {
  await app.close();
  hangsUp.close();
});

describe('without a database', () => {
  it.each(['/api/events', '/api/guardrails/history', '/api/agents/a', '/api/stats', '/api/keys'])(
    '%s returns 503 with Retry-After',
    async (url) => {
      const answer = await app.inject({ method: 'GET', url, headers: { authorization: `Bearer ${key}` } });
      expect(answer.statusCode).toBe(503);
      expect(answer.headers['retry-after']).toBeDefined();
      expect(answer.json()).toMatchObject({ status: 503, error: expect.any(String) });
    },
  );

  it('health names the unavailable part', async () => {
    const answer = await app.inject({ method: 'GET', url: '/api/health' });
    expect(answer.statusCode).toBe(503);
    expect(answer.json()).toMatchObject({ status: 'degraded', db: { ok: false } });
    expect(getServiceHealth.unavailable.parse(answer.json())).toEqual(answer.json());
  });

  it('the service reports not ready', async () => {
    const answer = await app.inject({ method: 'GET', url: '/readyz' });
    expect(answer.statusCode).toBe(503);
    expect(answer.json().checks).toMatchObject({ 'query-database': { ok: false } });
  });

  it('routes that need no database still work', async () => {
    const headers = { authorization: `Bearer ${key}` };
    for (const url of ['/openapi.json', '/api/guardrails/catalog', '/api/config/features']) {
      expect((await app.inject({ method: 'GET', url, headers })).statusCode).toBe(200);
    }
  });
});
