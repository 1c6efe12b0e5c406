import { getEvent, listEvents } from '@agentlens/operations';
import { type Caller, CurrentCaller, parseOr400, Serves } from '@agentlens/platform';
import { Controller, Param, Query } from '@nestjs/common';
import { foundOr404 } from '../http/found-or-404.ts';
import { answerOf } from '../http/written-page.ts';
import { EventsQueries } from './events.queries.ts';

@Controller()
export class EventsController {
  constructor(private readonly events: EventsQueries) {}

  @Serves(listEvents)
  async list(@CurrentCaller() caller: Caller, @Query() query: unknown) {
    const { items, ...page } = await this.events.list(caller.tenantId, parseOr400(listEvents.query, query));
    return answerOf('events', items, page);
  }

  @Serves(getEvent)
  async get(@CurrentCaller() caller: Caller, @Param() params: unknown) {
    const { id } = parseOr400(getEvent.params, params);
    return foundOr404('Event', await this.events.get(caller.tenantId, id));
  }
}
