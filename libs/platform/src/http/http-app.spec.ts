import { connect } from 'node:net';
import { text as textOf } from 'node:stream/consumers';
import { BusUnavailable, CommandUnanswered } from '@agentlens/messaging';
import { operation, type RequestOf, wholeNumber } from '@agentlens/operations';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Body, Controller, Get, Module, Post, Query } from '@nestjs/common';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { pino } from 'pino';
import { z } from 'zod';
import { newApiKey } from '../auth/api-key.ts';
import type { KeyCheck } from '../auth/cached-key-directory.ts';
import { AllowQueryToken, type Caller, CurrentCaller, Public, Scopes } from '../auth/caller.ts';
import { loadConfig } from '../config/config.ts';
import { HealthRegistry } from '../health/health-registry.ts';
import type { Platform } from '../platform.ts';
import { createHttpApp } from './create-http-app.ts';
import { ProblemException, parseOr400 } from './problem-exception.ts';
import { FromRequest } from './read-request.ts';
import { Serves } from './serves.ts';

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

const listParts = operation({
  id: 'listParts',
  method: 'get',
  path: '/things/:id',
  tag: 'Things',
  summary: 'The parts of a thing.',
  scope: 'read',
  params: z.object({ id: z.string().max(10, 'must be at most 10 characters') }),
  query: z.object({ limit: wholeNumber(1, 9, 5), colour: z.string().optional() }),
  headers: z.object({ 'last-event-id': z.string().regex(/^\d+$/, 'must be a number').optional() }),
  response: z.unknown(),
});

const paintThing = operation({
  id: 'paintThing',
  method: 'put',
  path: '/things/:id',
  tag: 'Things',
  summary: 'Paints a thing.',
  scope: 'ingest',
  params: z.object({ id: z.string() }),
  body: z.strictObject({ colour: z.string().default('red') }).default({ colour: 'red' }),
  status: 202,
  response: z.unknown(),
});

const breakThing = operation({
  ...paintThing,
  id: 'breakThing',
  method: 'delete',
  body: z.object({ how: z.string() }),
  forwarded: true,
});

@Controller()
class ThingsController {
  @Serves(listParts)
  list(@FromRequest() { params, query, headers }: RequestOf<typeof listParts>) {
    return { params, query, headers };
  }

  @Get('things/own')
  @Public()
  own() {
    return { ok: true };
  }

  @Serves(paintThing)
  paint(@FromRequest() { body }: RequestOf<typeof paintThing>) {
    return body;
  }

  @Serves(breakThing)
  break(@FromRequest() { body }: RequestOf<typeof breakThing>) {
    return { body };
  }
}

@Module({ controllers: [SampleController, ThingsController] })
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

  const listening = async () => {
    if (!app.getHttpServer().listening) await app.listen(0, '127.0.0.1');
    return app.getUrl();
  };
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
    ])('rejects %s with 401 and a hint', async (_name, headers, error) => {
      const answer = await app.inject({ url: '/me', headers });
      expect(answer.statusCode).toBe(401);
      expect(answer.json()).toMatchObject({
        error,
        code: 'unauthenticated',
        status: 401,
        hint: expect.stringMatching(/./),
      });
      expect(answer.headers['www-authenticate']).toBe('Bearer');
    });

    it('returns 503, not 401, if keys cannot be checked', async () => {
      const answer = await app.inject({ url: '/me', headers: as(keys.unlucky) });
      expect(answer.statusCode).toBe(503);
      expect(answer.headers['retry-after']).toBe('5');
    });

    it('returns 403 with the required scopes and those of the key', async () => {
      const answer = await app.inject({ url: '/me', headers: as(keys.ingest) });
      expect(answer.statusCode).toBe(403);
      expect(answer.json()).toMatchObject({ status: 403, required: ['read', 'decide'], current: ['ingest'] });
      expect(answer.json().hint).toContain('"read" or "decide"');
    });

    it('passes the caller to the controller', async () => {
      const answer = await app.inject({ url: '/me', headers: as(keys.reader) });
      expect(answer.json()).toMatchObject({ tenantId: 'acme', keyId: keys.reader.id, eventsPerSecond: 10 });
    });

    it('allows an admin key everything, and only an admin key on routes without a scope', async () => {
      expect((await app.inject({ url: '/me', headers: as(keys.admin) })).statusCode).toBe(200);
      expect((await app.inject({ url: '/admin-by-default', headers: as(keys.admin) })).statusCode).toBe(200);
      expect((await app.inject({ url: '/admin-by-default', headers: as(keys.reader) })).statusCode).toBe(403);
    });

    it('accepts ?token= only if the route allows it', async () => {
      expect((await app.inject({ url: `/stream?token=${keys.reader.key}` })).statusCode).toBe(200);
      expect((await app.inject({ url: `/me?token=${keys.reader.key}` })).statusCode).toBe(401);
    });
  });

  describe('bodies', () => {
    it('names the invalid path', async () => {
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
    ])('rejects %s with 400', async (_name, body) => {
      const answer = await post(body);
      expect(answer.statusCode).toBe(400);
      expect(answer.json()).toMatchObject({ error: 'Invalid JSON body', status: 400, hint: expect.any(String) });
    });

    it.each(['{"size":1,"__proto__":{"admin":true}}', '{"size":1,"constructor":{"prototype":{"a":1}}}'])(
      'rejects prototype pollution: %s',
      async (body) => {
        const answer = await post(body);
        expect(answer.statusCode).toBe(400);
        expect(answer.json().hint).toContain('__proto__');
      },
    );

    it('treats an empty body as no body, with any content type', async () => {
      const answer = await post('');
      expect(answer.statusCode).toBe(400);
      expect(answer.json()).toMatchObject({ error: 'Validation failed', details: [{ path: 'thing' }] });
    });

    it('rejects a body over the limit with 413 and the limit', async () => {
      const answer = await post(JSON.stringify({ size: 1, text: 'x'.repeat(2_000) }));
      expect(answer.statusCode).toBe(413);
      expect(answer.json()).toMatchObject({ status: 413, maxSize: 2000 });
      expect(answer.headers.connection).toBe('close');
    });

    it.each([
      ['a form', { 'content-type': 'application/x-www-form-urlencoded' }],
      ['text', { 'content-type': 'text/plain' }],
      ['a compressed body', { 'content-encoding': 'gzip' }],
    ])('rejects %s with 415', async (_name, headers) => {
      const answer = await post('{"size":1}', headers);
      expect(answer.statusCode).toBe(415);
      expect(answer.json()).toMatchObject({ status: 415, hint: expect.any(String) });
    });

    it('survives deep nesting', async () => {
      const deep = `${'['.repeat(900)}${']'.repeat(900)}`;
      expect((await post(`{"size":${deep}}`)).statusCode).toBe(400);
    });

    it('accepts JSON with a charset and JSON dialects', async () => {
      for (const type of ['application/json; charset=utf-8', 'application/cloudevents+json']) {
        expect((await post('{"size":1}', { 'content-type': type })).statusCode).toBe(201);
      }
    });
  });

  describe('errors', () => {
    it('returns a 404 problem for an unknown route', async () => {
      const answer = await app.inject({ url: '/nowhere?x=1', headers: as(keys.admin) });
      expect(answer.statusCode).toBe(404);
      expect(answer.json()).toEqual({
        error: 'Route not found',
        code: 'not_found',
        status: 404,
        hint: expect.stringContaining('GET /nowhere.'),
        requestId: answer.headers['x-request-id'],
      });
    });

    it.each([
      ['DELETE', '/me', 'GET, HEAD'],
      ['TRACE', '/me/', 'GET, HEAD'],
      ['PATCH', '/things/one?x=1', 'DELETE, GET, HEAD, PUT'],
      ['OPTIONS', '/things', 'POST'],
      ['POST', '/healthz', 'GET, HEAD'],
    ])('returns 405 for %s %s with the allowed methods', async (method, url, allow) => {
      const answer = await app.inject({ method: method as 'GET', url });
      expect(answer.statusCode).toBe(405);
      expect(answer.headers.allow).toBe(allow);
      expect(answer.json()).toMatchObject({
        code: 'method_not_allowed',
        status: 405,
        hint: expect.stringContaining(allow),
      });
    });

    it.each([
      ['POST', '/api/events'],
      ['GET', '/api/guardrails?limit=1'],
      ['HEAD', '/api/runs/one'],
    ])('returns 421 for %s %s, which another service has', async (method, url) => {
      const answer = await app.inject({ method: method as 'GET', url });
      expect(answer.statusCode).toBe(421);
      if (method !== 'HEAD') expect(answer.json()).toMatchObject({ code: 'misdirected', status: 421 });
    });

    it('lists the methods of a literal path, not of a parameter route that also matches', async () => {
      const answer = await app.inject({ method: 'PATCH', url: '/things/own' });
      expect(answer.headers.allow).toBe('GET, HEAD');
    });

    it.each([
      [`GET /me?x=${'y'.repeat(20_000)} HTTP/1.1\r\nHost: a\r\n\r\n`, 431, 'headers_too_large'],
      ['NONSENSE\r\n\r\n', 400, 'invalid_request'],
    ])('returns a problem for invalid HTTP: %.12s', async (text, status, code) => {
      const { port } = new URL(await listening());
      const socket = connect({ port: Number(port), host: '127.0.0.1' });
      socket.end(text);
      const [head = '', body = ''] = (await textOf(socket)).split('\r\n\r\n');
      expect(head).toContain(`HTTP/1.1 ${status} `);
      expect(JSON.parse(body)).toMatchObject({ status, code, hint: expect.any(String), requestId: expect.any(String) });
    });

    it('returns a 400 problem for a malformed address', async () => {
      const answer = await app.inject({ url: '/%zz' });
      expect(answer.statusCode).toBe(400);
      expect(answer.json()).toMatchObject({ status: 400, error: expect.any(String) });
    });

    it('hides a bug behind a 500 and logs it under the returned id', async () => {
      const answer = await app.inject({ url: '/fail?how=bug' });
      expect(answer.statusCode).toBe(500);
      expect(answer.json()).toMatchObject({ error: 'Internal server error', code: 'internal', status: 500 });
      expect(answer.body).not.toContain('secret detail');
      expect(lines.join('')).toContain('secret detail');
      expect(answer.json().hint).toContain(answer.headers['x-request-id']);
      expect(lines.join('')).toContain(String(answer.headers['x-request-id']));
    });

    it.each([
      ['broker', '2'],
      ['owner', '2'],
      ['database', '5'],
    ])('returns 503 with Retry-After if the %s is unavailable', async (how, seconds) => {
      const answer = await app.inject({ url: `/fail?how=${how}` });
      expect(answer.statusCode).toBe(503);
      expect(answer.headers['retry-after']).toBe(seconds);
      expect(answer.json()).toMatchObject({ status: 503, hint: expect.any(String) });
    });

    it('returns a rejection with its headers', async () => {
      const answer = await app.inject({ url: '/fail?how=refusal' });
      expect(answer.statusCode).toBe(409);
      expect(answer.headers['retry-after']).toBe('3');
      expect(answer.json()).toEqual({
        error: 'Already there',
        code: 'conflict',
        status: 409,
        hint: 'Use another name.',
        requestId: answer.headers['x-request-id'],
      });
    });
  });

  describe('a route served by its declaration', () => {
    const list = (query: string, headers: Record<string, string> = {}) =>
      app.inject({ url: `/things/one${query}`, headers: { ...as(keys.reader), ...headers } });
    const send = (method: 'PUT' | 'DELETE', payload?: string) =>
      app.inject({
        method,
        url: '/things/one',
        payload,
        headers: { ...as(keys.ingest), 'content-type': 'application/json' },
      });

    it('passes the parsed request to its handler', async () => {
      const answer = await list('?limit=3', { 'last-event-id': '7' });
      expect(answer.json()).toEqual({
        params: { id: 'one' },
        query: { limit: 3 },
        headers: { 'last-event-id': '7' },
      });
    });

    it('rejects an unknown parameter and suggests the nearest known one', async () => {
      const answer = await list('?limits=3&color=red');
      expect(answer.statusCode).toBe(400);
      expect(answer.json().details).toEqual([
        { path: 'limits', message: 'unknown parameter "limits"; did you mean "limit"? Known: limit, colour' },
        { path: 'color', message: 'unknown parameter "color"; did you mean "colour"? Known: limit, colour' },
      ]);
    });

    it('names the place of the error', async () => {
      expect((await list('?limit=0')).json()).toMatchObject({ status: 400, details: [{ path: 'limit' }] });
      expect((await list('', { 'last-event-id': 'x' })).json().details).toEqual([
        { path: 'headers.last-event-id', message: 'must be a number' },
      ]);
    });

    it('checks the key before it validates', async () => {
      expect((await app.inject({ url: '/things/one?limits=3' })).statusCode).toBe(401);
      expect((await app.inject({ url: '/things/one?limits=3', headers: as(keys.ingest) })).statusCode).toBe(403);
    });

    it('accepts a missing body if it has a default, and rejects null', async () => {
      expect((await send('PUT')).json()).toEqual({ colour: 'red' });
      expect((await send('PUT', '{"colour":"blue"}')).statusCode).toBe(202);
      expect((await send('PUT', 'null')).json()).toMatchObject({ status: 400, details: [{ path: '' }] });
    });

    it('forwards a raw body unchanged', async () => {
      expect((await send('DELETE', '{"how":1}')).json()).toEqual({ body: { how: 1 } });
      expect((await send('DELETE')).json()).toEqual({ body: null });
    });
  });

  describe('operator routes', () => {
    it('serves liveness, readiness and metrics without a key', async () => {
      health.add('sample', async () => ({ ok: true, detail: { oldestMs: 3 } }));
      expect((await app.inject({ url: '/healthz' })).statusCode).toBe(200);
      const ready = await app.inject({ url: '/readyz' });
      expect(ready.json()).toEqual({ status: 'ready', checks: { sample: { ok: true, detail: { oldestMs: 3 } } } });
      expect((await app.inject({ url: '/metrics' })).statusCode).toBe(200);
    });
  });
});
