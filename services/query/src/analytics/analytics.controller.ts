import {
  getActivity,
  getAnalytics,
  getCosts,
  getLlmAnalytics,
  getOverview,
  getSpend,
  getSpendSeries,
  getStats,
  getStatsOverview,
  type RequestOf,
} from '@agentlens/operations';
import { type Caller, CurrentCaller, FromRequest, Serves } from '@agentlens/platform';
import { Controller } from '@nestjs/common';
import { ActivityQueries } from '../activity/activity.queries.ts';
import { AnalyticsQueries } from './analytics.queries.ts';
import { SpendQueries } from './spend.queries.ts';

@Controller()
export class AnalyticsController {
  constructor(
    private readonly totals: AnalyticsQueries,
    private readonly spend: SpendQueries,
    private readonly activity: ActivityQueries,
  ) {}

  @Serves(getActivity)
  async activityOver(@CurrentCaller() caller: Caller, @FromRequest() { query }: RequestOf<typeof getActivity>) {
    return this.activity.over(caller.tenantId, query);
  }

  @Serves(getAnalytics)
  async analytics(@CurrentCaller() caller: Caller, @FromRequest() { query }: RequestOf<typeof getAnalytics>) {
    return this.totals.analytics(caller.tenantId, query);
  }

  @Serves(getStats)
  async stats(@CurrentCaller() caller: Caller) {
    return this.totals.stats(caller.tenantId);
  }

  @Serves(getStatsOverview)
  async statsOverview(@CurrentCaller() caller: Caller) {
    const { today, yesterday, totalAgents, errorRate } = await this.totals.overview(caller.tenantId);
    return {
      eventsTodayCount: today.events,
      eventsYesterdayCount: yesterday.events,
      errorsTodayCount: today.errors,
      errorsYesterdayCount: yesterday.errors,
      sessionsTodayCount: today.sessions,
      sessionsYesterdayCount: yesterday.sessions,
      totalAgents,
      errorRate,
    };
  }

  @Serves(getCosts)
  async costs(@CurrentCaller() caller: Caller, @FromRequest() { query }: RequestOf<typeof getCosts>) {
    return this.spend.costs(caller.tenantId, query);
  }

  @Serves(getLlmAnalytics)
  async llm(@CurrentCaller() caller: Caller, @FromRequest() { query }: RequestOf<typeof getLlmAnalytics>) {
    return this.spend.llm(caller.tenantId, query);
  }

  @Serves(getSpend)
  async grouped(@CurrentCaller() caller: Caller, @FromRequest() { query }: RequestOf<typeof getSpend>) {
    return this.spend.grouped(caller.tenantId, query);
  }

  @Serves(getSpendSeries)
  async series(@CurrentCaller() caller: Caller, @FromRequest() { query }: RequestOf<typeof getSpendSeries>) {
    return this.spend.series(caller.tenantId, query);
  }

  @Serves(getOverview)
  async overview(@CurrentCaller() caller: Caller) {
    return this.totals.overview(caller.tenantId);
  }
}
