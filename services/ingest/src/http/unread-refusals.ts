import { callerOf, type RouteSettings } from '@agentlens/platform';
import { Inject, Injectable, type OnModuleInit } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { FastifyInstance } from 'fastify';
import { EventIngestor } from '../event-ingestor.ts';

/** The config of a route that takes batches of events. */
export const BATCH_ROUTE = {
  checksKeys: true,
  takesLargeBodies: true,
  takesBatches: true,
} as const satisfies RouteSettings;

/**
 * Refuses batches of a tenant whose line is full before they are read, whichever route they come by: reading costs a
 * quarter of what taking does, and in an overload that is what others wait for.
 */
@Injectable()
export class UnreadRefusals implements OnModuleInit {
  constructor(
    @Inject(HttpAdapterHost) private readonly host: HttpAdapterHost,
    @Inject(EventIngestor) private readonly ingestor: EventIngestor,
  ) {}

  onModuleInit(): void {
    this.host.httpAdapter.getInstance<FastifyInstance>().addHook('onRequest', async (request) => {
      if (request.routeOptions.config.takesBatches !== true) return;
      this.ingestor.refuseIfFull(callerOf(request).tenantId);
    });
  }
}
