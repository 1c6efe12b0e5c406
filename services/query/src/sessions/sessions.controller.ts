import { getSession, getSessionTimeline, listSessions } from '@agentlens/operations';
import { type Caller, CurrentCaller, parseOr400, Serves } from '@agentlens/platform';
import { Controller, Param, Query } from '@nestjs/common';
import { foundOr404 } from '../http/found-or-404.ts';
import { answerOf } from '../http/written-page.ts';
import { SessionsQueries } from './sessions.queries.ts';

@Controller()
export class SessionsController {
  constructor(private readonly sessions: SessionsQueries) {}

  @Serves(listSessions)
  async list(@CurrentCaller() caller: Caller, @Query() query: unknown) {
    const filter = parseOr400(listSessions.query, query);
    if (filter.countOnly) return { count: await this.sessions.count(caller.tenantId, filter) };
    const { items, ...page } = await this.sessions.list(caller.tenantId, filter);
    return { sessions: items, ...page };
  }

  @Serves(getSession)
  async get(@CurrentCaller() caller: Caller, @Param() params: unknown) {
    const { id } = parseOr400(getSession.params, params);
    return foundOr404('Session', await this.sessions.get(caller.tenantId, id));
  }

  @Serves(getSessionTimeline)
  async timeline(@CurrentCaller() caller: Caller, @Param() params: unknown, @Query() query: unknown) {
    const { id } = parseOr400(getSessionTimeline.params, params);
    const page = await this.sessions.timeline(caller.tenantId, id, parseOr400(getSessionTimeline.query, query));
    const { items, ...rest } = foundOr404('Session', page);
    return answerOf('events', items, { ...rest, chained: false, chainValid: null });
  }
}
