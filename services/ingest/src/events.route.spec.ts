import type { ApiKeyGuard, ProblemException } from '@agentlens/platform';
import { describe, expect, it, jest } from '@jest/globals';
import type { HttpAdapterHost } from '@nestjs/core';
import { fastify } from 'fastify';
import type { EventDesk } from './event-desk.ts';
import { EventsRoute } from './events.route.ts';
import { heldBack } from './rate-limit.ts';

describe('POST /api/events', () => {
  it('reads nothing of a request whose tenant is to come back later', async () => {
    const app = fastify();
    const read = jest.fn();
    app.removeAllContentTypeParsers();
    app.addContentTypeParser('application/json', { parseAs: 'string' }, (_request, body, done) => {
      read();
      done(null, JSON.parse(body as string));
    });
    app.setErrorHandler((error: ProblemException, _request, reply) => reply.status(error.getStatus()).send());
    const refuseUnread = jest.fn(() => {
      throw heldBack(1_000);
    });
    const route = new EventsRoute(
      { httpAdapter: { getInstance: () => app } } as unknown as HttpAdapterHost,
      { authorize: async () => ({ tenantId: 'acme' }) } as unknown as ApiKeyGuard,
      { refuseUnread } as unknown as EventDesk,
    );
    route.onModuleInit();
    const answer = await app.inject({ method: 'POST', url: '/api/events', payload: { events: [] } });
    expect([answer.statusCode, refuseUnread.mock.calls, read.mock.calls]).toEqual([429, [['acme']], []]);
  });
});
