import { getAnalytics, getOverview, getStats, type RequestOf } from '@agentlens/operations';
import { type Caller, CurrentCaller, FromRequest, Serves } from '@agentlens/platform';
import { Controller } from '@nestjs/common';
import { AnalyticsQueries } from './analytics.queries.ts';

@Controller()
export class AnalyticsController {
  constructor(private readonly totals: AnalyticsQueries) {}

  @Serves(getAnalytics)
  async analytics(@CurrentCaller() caller: Caller, @FromRequest() { query }: RequestOf<typeof getAnalytics>) {
    return this.totals.analytics(caller.tenantId, query);
  }

  @Serves(getStats)
  async stats(@CurrentCaller() caller: Caller) {
    return this.totals.stats(caller.tenantId);
  }

  @Serves(getOverview)
  async overview(@CurrentCaller() caller: Caller) {
    return this.totals.overview(caller.tenantId);
  }
}
