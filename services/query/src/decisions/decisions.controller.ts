import { getDecision, getDecisionPaths, listDecisions, type RequestOf } from '@agentlens/operations';
import { type Caller, CurrentCaller, FromRequest, Serves } from '@agentlens/platform';
import { Controller } from '@nestjs/common';
import { foundOr404 } from '../http/found-or-404.ts';
import { DecisionsQueries } from './decisions.queries.ts';

@Controller()
export class DecisionsController {
  constructor(private readonly decisions: DecisionsQueries) {}

  @Serves(listDecisions)
  async list(@CurrentCaller() caller: Caller, @FromRequest() { query }: RequestOf<typeof listDecisions>) {
    const { items, ...page } = await this.decisions.list(caller.tenantId, query);
    return { decisions: items, ...page };
  }

  @Serves(getDecision)
  async get(@CurrentCaller() caller: Caller, @FromRequest() { params }: RequestOf<typeof getDecision>) {
    return foundOr404('Decision', await this.decisions.get(caller.tenantId, params.id));
  }

  @Serves(getDecisionPaths)
  async paths(@CurrentCaller() caller: Caller, @FromRequest() { query }: RequestOf<typeof getDecisionPaths>) {
    return this.decisions.paths(caller.tenantId, query);
  }
}
