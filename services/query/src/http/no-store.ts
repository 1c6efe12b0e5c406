import { Injectable, type OnModuleInit } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { FastifyInstance } from 'fastify';

/**
 * Answers belong to one key: no cache may keep them. A hook of the server rather than an interceptor, so that it marks the
 * refusals too.
 */
@Injectable()
export class NoStore implements OnModuleInit {
  constructor(private readonly host: HttpAdapterHost) {}

  onModuleInit(): void {
    const server: FastifyInstance = this.host.httpAdapter.getInstance();
    server.addHook('onRequest', (request, reply, done) => {
      if (request.url.startsWith('/api/')) void reply.header('cache-control', 'no-store');
      done();
    });
  }
}
