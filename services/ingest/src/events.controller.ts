import { type Caller, CurrentCaller, Scopes } from '@agentlens/platform';
import { Body, Controller, Inject, Post, Query, Req, Res } from '@nestjs/common';
import { RouteConfig } from '@nestjs/platform-fastify';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { type AllTaken, allTaken, type SomeTaken, someTaken } from './answers.ts';
import { EventDesk } from './event-desk.ts';
import { eventsOf, idempotencyKeyOf, isPartial } from './events-request.ts';

/** Events of the AgentLens vocabulary. */
@Controller('api/events')
export class EventsController {
  constructor(@Inject(EventDesk) private readonly desk: EventDesk) {}

  @Post()
  @RouteConfig({ checksKeys: true })
  @Scopes('ingest')
  async take(
    @CurrentCaller() caller: Caller,
    @Body() body: unknown,
    @Query('partial') partialFlag: unknown,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<AllTaken | SomeTaken> {
    const partial = isPartial(partialFlag);
    const key = idempotencyKeyOf(request.headers['idempotency-key']);
    const events = eventsOf(body);
    await this.desk.admit(caller, events.length, reply);
    const verdicts = await this.desk.take(caller.tenantId, { events, key, partial });
    void reply.status(partial ? 207 : 201);
    return partial ? someTaken(verdicts) : allTaken(verdicts);
  }
}
