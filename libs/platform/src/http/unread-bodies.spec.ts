import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Body, Controller, Get, Module, Post } from '@nestjs/common';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { pino } from 'pino';
import { newApiKey } from '../auth/api-key.ts';
import { Public, Scopes } from '../auth/caller.ts';
import { RouteSetting, USUAL_BODY_BYTES } from '../auth/route-config.ts';
import { loadConfig } from '../config/config.ts';
import { HealthRegistry } from '../health/health-registry.ts';
import { listen } from '../lifecycle/serve.ts';
import type { Platform } from '../platform.ts';
import { createHttpApp } from './create-http-app.ts';

@Controller()
class SampleController {
  @Post('small')
  @Scopes('ingest')
  small(@Body() body: unknown) {
    return body;
  }

  @Post('large')
  @Scopes('ingest')
  @RouteSetting({ takesLargeBodies: true })
  large(@Body() body: unknown) {
    return { chars: JSON.stringify(body).length };
  }

  @Get('open')
  @Public()
  open() {
    return { ok: true };
  }
}

@Module({ controllers: [SampleController] })
class SampleModule {}

const { key } = newApiKey();
const { key: foreign } = newApiKey();
const accepted = { tenantId: 'acme', keyId: 'k', scopes: ['ingest' as const], eventsPerSecond: 10 };

describe('a body that must not be read', () => {
  let app: NestFastifyApplication;
  let port: number;

  beforeAll(async () => {
    const platform = {
      config: loadConfig('standalone', { AGENTLENS_HTTP_PORT: '0' }),
      logger: pino({ level: 'silent' }),
      health: new HealthRegistry(),
      keys: {
        check: async (shown: string) =>
          shown === key ? { kind: 'accepted', caller: accepted } : { kind: 'refused', reason: 'unknown' },
      },
    } as Partial<Platform> as Platform;
    app = await createHttpApp(platform, [{ module: SampleModule }]);
    port = Number(new URL(await listen(app, platform)).port);
  });
  afterAll(() => app.close());

  /** Returns the status line and headers of the response to a request that announces a body and never sends it. */
  async function headOfAnswer(path: string, headers: Record<string, string>): Promise<string> {
    const socket = connect(port, '127.0.0.1');
    const lines = Object.entries({ host: 'x', 'content-type': 'application/json', ...headers });
    socket.write(`POST ${path} HTTP/1.1\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n`);
    let text = '';
    for await (const chunk of socket) {
      text += String(chunk);
      if (text.includes('\r\n\r\n')) break;
    }
    socket.destroy();
    return text.slice(0, text.indexOf('\r\n\r\n')).toLowerCase();
  }

  it.each([
    ['without a key', {}, 401],
    ['with an unknown key', { authorization: `Bearer ${foreign}` }, 401],
  ])('is rejected before its first byte %s', async (_name, headers, status) => {
    for (const path of ['/small', '/large']) {
      const head = await headOfAnswer(path, { 'content-length': '900000', ...headers });
      expect(head).toContain(`http/1.1 ${status}`);
      expect(head).toContain('connection: keep-alive');
    }
  });

  it.each([
    ['it is long', { 'content-length': String(USUAL_BODY_BYTES + 1) }],
    ['its length is unknown', { 'transfer-encoding': 'chunked' }],
  ])('closes the connection if %s', async (_name, headers) => {
    const head = await headOfAnswer('/large', headers);
    expect(head).toContain('http/1.1 401');
    expect(head).toContain('connection: close');
  });

  it('is rejected before its first byte on an unknown route', async () => {
    const head = await headOfAnswer('/nowhere', { 'content-length': '900000', authorization: `Bearer ${key}` });
    expect(head).toContain('http/1.1 404');
  });

  it('may be as large as its route allows, and no larger', async () => {
    const send = async (path: string, chars: number) => {
      const answer = await app.inject({
        method: 'POST',
        url: path,
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        payload: JSON.stringify('x'.repeat(chars)),
      });
      return { status: answer.statusCode, maxSize: answer.json().maxSize };
    };
    expect(await send('/large', USUAL_BODY_BYTES + 10)).toMatchObject({ status: 201 });
    expect(await send('/small', USUAL_BODY_BYTES + 10)).toEqual({ status: 413, maxSize: USUAL_BODY_BYTES });
    expect(await send('/large', 10_485_760)).toEqual({ status: 413, maxSize: 10_485_760 });
  });
});
