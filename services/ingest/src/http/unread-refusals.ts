import { callerOf, type RouteSettings } from '@agentlens/platform';
import { Inject, Injectable, type OnModuleInit } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { FastifyInstance } from 'fastify';
import { RejectedBodies } from '../admission/quotas.ts';
import { EventIngestor } from '../event-ingestor.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** Size of the decoded body, if it differs from its length. */
    bodyBytes?: number;
  }
}

/** The config of a route that takes batches of events. */
export const BATCH_ROUTE = {
  checksKeys: true,
  takesLargeBodies: true,
  takesBatches: true,
} as const satisfies RouteSettings;

/**
 * Rejects batches before they are read if the tenant's queue is full, or if the key sent too much rejected data.
 * Reading a batch costs a quarter of processing it, and under overload other requests wait for that.
 */
@Injectable()
export class UnreadRefusals implements OnModuleInit {
  constructor(
    @Inject(HttpAdapterHost) private readonly host: HttpAdapterHost,
    @Inject(EventIngestor) private readonly ingestor: EventIngestor,
    @Inject(RejectedBodies) private readonly rejected: RejectedBodies,
  ) {}

  onModuleInit(): void {
    const fastify = this.host.httpAdapter.getInstance<FastifyInstance>();
    // With callbacks, because every request of every route would pay for promises.
    fastify.addHook('onRequest', (request, _reply, done) => {
      if (request.routeOptions.config.takesBatches !== true) return done();
      const { tenantId, keyId } = callerOf(request);
      this.rejected.refuseIfUsedUp(keyId);
      this.ingestor.refuseIfFull(tenantId);
      done();
    });
    fastify.addHook('onResponse', (request, reply, done) => {
      if (request.routeOptions.config.takesBatches === true && WAS_READ_AND_REJECTED.has(reply.statusCode)) {
        const bytes = request.bodyBytes ?? Number(request.headers['content-length'] ?? 0);
        this.rejected.charge(callerOf(request).keyId, bytes);
      }
      done();
    });
  }
}

const WAS_READ_AND_REJECTED: ReadonlySet<number> = new Set([400, 409, 413, 422]);
