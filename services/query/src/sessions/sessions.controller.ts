import { getSession, getSessionTimeline, listSessions, type RequestOf } from '@agentlens/operations';
import { type Caller, CurrentCaller, FromRequest, Serves } from '@agentlens/platform';
import { Controller } from '@nestjs/common';
import { foundOr404 } from '../http/found-or-404.ts';
import { answerOf } from '../http/written-page.ts';
import { SessionsQueries } from './sessions.queries.ts';

@Controller()
export class SessionsController {
  constructor(private readonly sessions: SessionsQueries) {}

  @Serves(listSessions)
  async list(@CurrentCaller() caller: Caller, @FromRequest() { query }: RequestOf<typeof listSessions>) {
    const filter = query;
    if (filter.countOnly) return { count: await this.sessions.count(caller.tenantId, filter) };
    const { items, ...page } = await this.sessions.list(caller.tenantId, filter);
    return { sessions: items, ...page };
  }

  @Serves(getSession)
  async get(@CurrentCaller() caller: Caller, @FromRequest() { params: { id } }: RequestOf<typeof getSession>) {
    return foundOr404('Session', await this.sessions.get(caller.tenantId, id));
  }

  @Serves(getSessionTimeline)
  async timeline(
    @CurrentCaller() caller: Caller,
    @FromRequest() { params: { id }, query }: RequestOf<typeof getSessionTimeline>,
  ) {
    const page = await this.sessions.timeline(caller.tenantId, id, query);
    const { items, ...rest } = foundOr404('Session', page);
    return answerOf('events', items, { ...rest, chained: false, chainValid: true });
  }
}
