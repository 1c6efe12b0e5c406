import { getAnalytics, getOverview, getStats } from '@agentlens/operations';
import { type Caller, CurrentCaller, parseOr400, Serves } from '@agentlens/platform';
import { Controller, Query } from '@nestjs/common';
import { AnalyticsQueries } from './analytics.queries.ts';

@Controller()
export class AnalyticsController {
  constructor(private readonly totals: AnalyticsQueries) {}

  @Serves(getAnalytics)
  async analytics(@CurrentCaller() caller: Caller, @Query() query: unknown) {
    return this.totals.analytics(caller.tenantId, parseOr400(getAnalytics.query, query));
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
