import { getMetrics, type RequestOf } from '@agentlens/operations';
import { type Caller, CurrentCaller, FromRequest, Serves } from '@agentlens/platform';
import { Controller } from '@nestjs/common';
import { MetricsQueries } from './metrics.queries.ts';

@Controller()
export class MetricsController {
  constructor(private readonly metrics: MetricsQueries) {}

  @Serves(getMetrics)
  async get(@CurrentCaller() caller: Caller, @FromRequest() { query }: RequestOf<typeof getMetrics>) {
    return this.metrics.get(caller.tenantId, query);
  }
}
