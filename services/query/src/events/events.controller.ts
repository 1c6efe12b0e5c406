import { getEvent, listEvents, type RequestOf } from '@agentlens/operations';
import { type Caller, CurrentCaller, FromRequest, Serves } from '@agentlens/platform';
import { Controller } from '@nestjs/common';
import { foundOr404 } from '../http/found-or-404.ts';
import { answerOf } from '../http/written-page.ts';
import { EventsQueries } from './events.queries.ts';

@Controller()
export class EventsController {
  constructor(private readonly events: EventsQueries) {}

  @Serves(listEvents)
  async list(@CurrentCaller() caller: Caller, @FromRequest() { query }: RequestOf<typeof listEvents>) {
    const { items, ...page } = await this.events.list(caller.tenantId, query);
    return answerOf('events', items, page);
  }

  @Serves(getEvent)
  async get(@CurrentCaller() caller: Caller, @FromRequest() { params: { id } }: RequestOf<typeof getEvent>) {
    return foundOr404('Event', await this.events.get(caller.tenantId, id));
  }
}
