import { type RequestOf, searchById } from '@agentlens/operations';
import { type Caller, CurrentCaller, FromRequest, Serves } from '@agentlens/platform';
import { Controller } from '@nestjs/common';
import { SearchQueries } from './search.queries.ts';

@Controller()
export class SearchController {
  constructor(private readonly search: SearchQueries) {}

  @Serves(searchById)
  byId(@CurrentCaller() { tenantId }: Caller, @FromRequest() { query }: RequestOf<typeof searchById>) {
    return this.search.byId(tenantId, query.id);
  }
}
