import { type RequestOf, searchById, searchText } from '@agentlens/operations';
import { type Caller, CurrentCaller, FromRequest, Serves } from '@agentlens/platform';
import { Controller } from '@nestjs/common';
import { SearchQueries } from './search.queries.ts';
import { TextSearchQueries } from './text-search.queries.ts';

@Controller()
export class SearchController {
  constructor(
    private readonly search: SearchQueries,
    private readonly texts: TextSearchQueries,
  ) {}

  @Serves(searchText)
  byText(@CurrentCaller() { tenantId }: Caller, @FromRequest() { query }: RequestOf<typeof searchText>) {
    return this.texts.find(tenantId, query);
  }

  @Serves(searchById)
  byId(@CurrentCaller() { tenantId }: Caller, @FromRequest() { query }: RequestOf<typeof searchById>) {
    return this.search.byId(tenantId, query.id);
  }
}
