import { BusUnavailable, CommandUnanswered } from '@agentlens/messaging';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Body, Controller, Get, Module, Post, Query } from '@nestjs/common';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { pino } from 'pino';
import { z } from 'zod';
import { newApiKey } from '../auth/api-key.ts';
import { AllowQueryToken, type Caller, CurrentCaller, Public, Scopes } from '../auth/caller.ts';
import type { KeyCheck } from '../auth/key-directory.ts';
import { loadConfig } from '../config/config.ts';
import { HealthRegistry } from '../health/health-registry.ts';
import type { Platform } from '../platform.ts';
import { createHttpApp } from './create-http-app.ts';
import { parseOr400 } from './parse-or-400.ts';
import { ProblemException } from './problem-exception.ts';

const failures: Record<string, () => Error> = {
  bug: () => new TypeError('secret detail of the inside'),
  broker: () => new BusUnavailable('full', 1_500),
  owner: () => new CommandUnanswered('nobody'),
  database: () => Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' }),
  refusal: () =>
    new ProblemException(409, 'Already there', { hint: 'Use another name.', headers: { 'retry-after': '3' } }),
};

@Controller()
class SampleController {
  @Post('things')
  @Scopes('ingest')
  make(@Body() body: unknown) {
    return parseOr400(z.object({ size: z.number() }), body, 'thing');
  }

  @Get('me')
  @Scopes('read', 'decide')
  me(@CurrentCaller() caller: Caller) {
    return caller;
  }

  @Get('admin-by-default')
  adminByDefault() {
    return { ok: true };
  }

  @Get('stream')
  @Scopes('read')
  @AllowQueryToken()
  stream() {
    return { ok: true };
  }

  @Get('fail')
  @Public()
  fail(@Query('how') how: string) {
    throw failures[how]?.() ?? new Error('?');
  }
}

@Module({ controllers: [SampleController] })
class SampleModule {}

const keys = {
  ingest: newApiKey(),
  reader: newApiKey(),
  admin: newApiKey(),
  revoked: newApiKey(),
  unlucky: newApiKey(),
};

function check(key: string): KeyCheck {
  const accepted = (keyId: string, scope: 'ingest' | 'read' | 'admin'): KeyCheck => ({
    kind: 'accepted',
    caller: { tenantId: 'acme', keyId, scopes: [scope], eventsPerSecond: 10 },
  });
  switch (key) {
    case keys.ingest.key:
      return accepted(keys.ingest.id, 'ingest');
    case keys.reader.key:
      return accepted(keys.reader.id, 'read');
    case keys.admin.key:
      return accepted(keys.admin.id, 'admin');
    case keys.revoked.key:
      return { kind: 'refused', reason: 'revoked' };
    case keys.unlucky.key:
      return { kind: 'unavailable' };
    default:
      return { kind: 'refused', reason: 'unknown' };
  }
}

describe('HTTP app', () => {
  const lines: string[] = [];
  const health = new HealthRegistry();
  let app: NestFastifyApplication;

  beforeAll(async () => {
    const platform = {
      config: loadConfig('standalone', { AGENTLENS_HTTP_BODY_LIMIT_BYTES: '2000' }),
      logger: pino({ level: 'error' }, { write: (line: string) => lines.push(line) }),
      health,
      keys: { check: async (key: string) => check(key) },
    } as Partial<Platform> as Platform;
    app = await createHttpApp(platform, [{ module: SampleModule }]);
    await app.init();
  });
  afterAll(() => app.close());

  const as = (key: { key: string }) => ({ authorization: `Bearer ${key.key}` });
  const post = (payload: string, headers: Record<string, string> = {}) =>
    app.inject({
      method: 'POST',
      url: '/things',
      payload,
      headers: { 'content-type': 'application/json', ...as(keys.ingest), ...headers },
    });

  describe('keys', () => {
    it.each([
      ['no key', {}, 'Authentication required'],
      ['another scheme', { authorization: 'Basic abc' }, 'Authentication required'],
      ['an unknown key', { authorization: `Bearer ${newApiKey().key}` }, 'Invalid API key'],
      ['a revoked key', as(keys.revoked), 'API key revoked'],
    ])('refuses %s with 401 and a hint', async (_name, headers, error) => {
      const answer = await app.inject({ url: '/me', headers });
      expect(answer.statusCode).toBe(401);
      expect(answer.json()).toEqual({ error, status: 401, hint: expect.stringMatching(/./) });
      expect(answer.headers['www-authenticate']).toBe('Bearer');
    });

    it('answers 503, not 401, when keys cannot be checked', async () => {
      const answer = await app.inject({ url: '/me', headers: as(keys.unlucky) });
      expect(answer.statusCode).toBe(503);
      expect(answer.headers['retry-after']).toBe('5');
    });

    it('answers 403 saying what is required and what the key has', async () => {
      const answer = await app.inject({ url: '/me', headers: as(keys.ingest) });
      expect(answer.statusCode).toBe(403);
      expect(answer.json()).toMatchObject({ status: 403, required: ['read', 'decide'], current: ['ingest'] });
      expect(answer.json().hint).toContain('"read" or "decide"');
    });

    it('hands the caller to the controller', async () => {
      const answer = await app.inject({ url: '/me', headers: as(keys.reader) });
      expect(answer.json()).toMatchObject({ tenantId: 'acme', keyId: keys.reader.id, eventsPerSecond: 10 });
    });

    it('lets an admin key do everything, and only it what names no scope', async () => {
      expect((await app.inject({ url: '/me', headers: as(keys.admin) })).statusCode).toBe(200);
      expect((await app.inject({ url: '/admin-by-default', headers: as(keys.admin) })).statusCode).toBe(200);
      expect((await app.inject({ url: '/admin-by-default', headers: as(keys.reader) })).statusCode).toBe(403);
    });

    it('takes ?token= only where the route allows it', async () => {
      expect((await app.inject({ url: `/stream?token=${keys.reader.key}` })).statusCode).toBe(200);
      expect((await app.inject({ url: `/me?token=${keys.reader.key}` })).statusCode).toBe(401);
    });
  });

  describe('bodies', () => {
    it('names the path that is wrong', async () => {
      const answer = await post('{"size":"big"}');
      expect(answer.statusCode).toBe(400);
      expect(answer.json()).toMatchObject({
        error: 'Validation failed',
        status: 400,
        details: [{ path: 'thing.size', message: expect.any(String) }],
      });
    });

    it.each([
      ['cut JSON', '{"size":'],
      ['not JSON', 'size=1'],
      ['a NUL byte', '{"size":1\u0000}'],
    ])('refuses %s with 400', async (_name, body) => {
      const answer = await post(body);
      expect(answer.statusCode).toBe(400);
      expect(answer.json()).toEqual({ error: 'Invalid JSON body', status: 400, hint: expect.any(String) });
    });

    it.each(['{"size":1,"__proto__":{"admin":true}}', '{"size":1,"constructor":{"prototype":{"a":1}}}'])(
      'refuses prototype poisoning: %s',
      async (body) => {
        const answer = await post(body);
        expect(answer.statusCode).toBe(400);
        expect(answer.json().hint).toContain('__proto__');
      },
    );

    it('takes an empty body as none, whatever its content type', async () => {
      const answer = await post('');
      expect(answer.statusCode).toBe(400);
      expect(answer.json()).toMatchObject({ error: 'Validation failed', details: [{ path: 'thing' }] });
    });

    it('refuses a body over the limit with 413 and says the limit', async () => {
      const answer = await post(JSON.stringify({ size: 1, text: 'x'.repeat(2_000) }));
      expect(answer.statusCode).toBe(413);
      expect(answer.json()).toMatchObject({ status: 413, maxSize: 2000 });
      expect(answer.headers.connection).toBe('close');
    });

    it.each([
      ['a form', { 'content-type': 'application/x-www-form-urlencoded' }],
      ['text', { 'content-type': 'text/plain' }],
      ['a compressed body', { 'content-encoding': 'gzip' }],
    ])('refuses %s with 415', async (_name, headers) => {
      const answer = await post('{"size":1}', headers);
      expect(answer.statusCode).toBe(415);
      expect(answer.json()).toMatchObject({ status: 415, hint: expect.any(String) });
    });

    it('survives deep nesting', async () => {
      const deep = `${'['.repeat(900)}${']'.repeat(900)}`;
      expect((await post(`{"size":${deep}}`)).statusCode).toBe(400);
    });

    it('takes JSON with a charset and JSON dialects', async () => {
      for (const type of ['application/json; charset=utf-8', 'application/cloudevents+json']) {
        expect((await post('{"size":1}', { 'content-type': type })).statusCode).toBe(201);
      }
    });
  });

  describe('errors', () => {
    it('answers an unknown route with a 404 problem', async () => {
      const answer = await app.inject({ url: '/nowhere?x=1', headers: as(keys.admin) });
      expect(answer.statusCode).toBe(404);
      expect(answer.json()).toEqual({
        error: 'Route not found',
        status: 404,
        hint: expect.stringContaining('GET /nowhere.'),
      });
    });

    it('answers a malformed address with a 400 problem', async () => {
      const answer = await app.inject({ url: '/%zz' });
      expect(answer.statusCode).toBe(400);
      expect(answer.json()).toMatchObject({ status: 400, error: expect.any(String) });
    });

    it('hides a bug behind a 500 and logs it under the id it answers', async () => {
      const answer = await app.inject({ url: '/fail?how=bug' });
      expect(answer.statusCode).toBe(500);
      expect(answer.json()).toEqual({ error: 'Internal server error', status: 500, hint: expect.any(String) });
      expect(answer.body).not.toContain('secret detail');
      expect(lines.join('')).toContain('secret detail');
      expect(answer.json().hint).toContain(answer.headers['x-request-id']);
      expect(lines.join('')).toContain(String(answer.headers['x-request-id']));
    });

    it.each([
      ['broker', '2'],
      ['owner', '2'],
      ['database', '5'],
    ])('answers 503 with Retry-After when the %s is away', async (how, seconds) => {
      const answer = await app.inject({ url: `/fail?how=${how}` });
      expect(answer.statusCode).toBe(503);
      expect(answer.headers['retry-after']).toBe(seconds);
      expect(answer.json()).toMatchObject({ status: 503, hint: expect.any(String) });
    });

    it('passes a refusal on with its headers', async () => {
      const answer = await app.inject({ url: '/fail?how=refusal' });
      expect(answer.statusCode).toBe(409);
      expect(answer.headers['retry-after']).toBe('3');
      expect(answer.json()).toEqual({ error: 'Already there', status: 409, hint: 'Use another name.' });
    });
  });

  describe('operator routes', () => {
    it('answers liveness, readiness and metrics without a key', async () => {
      health.add('sample', async () => ({ ok: true, detail: { oldestMs: 3 } }));
      expect((await app.inject({ url: '/healthz' })).statusCode).toBe(200);
      const ready = await app.inject({ url: '/readyz' });
      expect(ready.json()).toEqual({ status: 'ready', checks: { sample: { ok: true, detail: { oldestMs: 3 } } } });
      expect((await app.inject({ url: '/metrics' })).statusCode).toBe(200);
    });
  });
});
