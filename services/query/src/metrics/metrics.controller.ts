import { getMetrics } from '@agentlens/operations';
import { type Caller, CurrentCaller, parseOr400, Serves } from '@agentlens/platform';
import { Controller, Query } from '@nestjs/common';
import { MetricsQueries } from './metrics.queries.ts';

@Controller()
export class MetricsController {
  constructor(private readonly metrics: MetricsQueries) {}

  @Serves(getMetrics)
  async get(@CurrentCaller() caller: Caller, @Query() query: unknown) {
    return this.metrics.get(caller.tenantId, parseOr400(getMetrics.query, query));
  }
}
