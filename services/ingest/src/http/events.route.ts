import { ingestEvents } from '@agentlens/operations/ingest';
import { callerOf, routeOf } from '@agentlens/platform';
import { Inject, Injectable, type OnModuleInit } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { EventIngestor } from '../event-ingestor.ts';
import { type AllTaken, allTaken, type SomeTaken, someTaken } from './answers.ts';
import { eventsOf, idempotencyKeyOf, isPartial } from './events-request.ts';
import { BATCH_ROUTE } from './unread-refusals.ts';

interface EventsRequest {
  readonly Body: unknown;
  readonly Querystring: Readonly<Record<string, unknown>>;
}

/**
 * Events of the AgentLens vocabulary: `POST /api/events`. It is nearly all of the platform's traffic, and most of it one
 * event at a time, so it is a route of Fastify itself: what Nest does for a controller around each call costs as much as
 * the handler. Keys, hooks and errors are those of every other route.
 */
@Injectable()
export class EventsRoute implements OnModuleInit {
  constructor(
    @Inject(HttpAdapterHost) private readonly host: HttpAdapterHost,
    @Inject(EventIngestor) private readonly ingestor: EventIngestor,
  ) {}

  onModuleInit(): void {
    const fastify = this.host.httpAdapter.getInstance<FastifyInstance>();
    fastify.route<EventsRequest>({
      ...routeOf(ingestEvents, BATCH_ROUTE),
      handler: (request, reply) => this.take(request, reply),
    });
  }

  private async take(request: FastifyRequest<EventsRequest>, reply: FastifyReply): Promise<AllTaken | SomeTaken> {
    const caller = callerOf(request);
    const partial = isPartial(request.query);
    const key = idempotencyKeyOf(request.headers['idempotency-key']);
    const handover = { events: eventsOf(request.body), key, partial };
    // The handover lets go of them once they are on their way; so must the request.
    request.body = undefined;
    await this.ingestor.admit(caller, handover.events.length, reply);
    const outcomes = await this.ingestor.take(caller, handover);
    void reply.status(partial ? 207 : 201);
    return partial ? someTaken(outcomes) : allTaken(outcomes);
  }
}
