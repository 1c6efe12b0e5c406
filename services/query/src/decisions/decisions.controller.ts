import { listDecisions, type RequestOf } from '@agentlens/operations';
import { type Caller, CurrentCaller, FromRequest, Serves } from '@agentlens/platform';
import { Controller } from '@nestjs/common';
import { DecisionsQueries } from './decisions.queries.ts';

@Controller()
export class DecisionsController {
  constructor(private readonly decisions: DecisionsQueries) {}

  @Serves(listDecisions)
  async list(@CurrentCaller() caller: Caller, @FromRequest() { query }: RequestOf<typeof listDecisions>) {
    const { items, ...page } = await this.decisions.list(caller.tenantId, query);
    return { decisions: items, ...page };
  }
}
