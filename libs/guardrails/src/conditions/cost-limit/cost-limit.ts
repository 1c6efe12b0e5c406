import { EVENT_KINDS } from '@agentlens/contracts';
import { z } from 'zod';
import type { EventCondition } from '../../catalog/condition-module.ts';
import type { Series } from '../../ports/window-store.ts';

const CostLimitConfig = z.strictObject({
  maxCostUsd: z.number().min(0).max(1_000_000_000).default(10).meta({ title: 'Limit', unit: 'USD' }),
  scope: z.enum(['session', 'daily']).default('daily').meta({ title: 'Counted over' }),
});
type CostLimitConfig = z.infer<typeof CostLimitConfig>;

/** What a run, or an agent in one UTC day, has cost. */
export const costLimit: EventCondition<CostLimitConfig> = {
  type: 'cost_limit',
  title: 'Cost limit',
  description: 'A session, or an agent within one UTC day, has cost too much.',
  unit: 'USD',
  cadence: 'event',
  config: CostLimitConfig,
  example: { maxCostUsd: 5, scope: 'session' },
  phases: ['stream', 'decision'],
  // Every kind: an agent that goes on after its limit must be caught again, whatever it does next.
  listensTo: () => EVENT_KINDS,
  series: (config, event) => [spent(config, event.runId, event.occurredAt)],
  seriesAt: (config, { runId, nowMs }) => [spent(config, runId, new Date(nowMs).toISOString())],
  measure: (_config, [cost]) => cost?.sum ?? 0,
  threshold: (config) => ({ operator: 'gte', value: config.maxCostUsd }),
  message: (config, value) =>
    `${config.scope === 'session' ? 'Session' : 'Daily'} cost $${value.toFixed(4)} exceeds limit $${config.maxCostUsd}`,
};

function spent({ scope }: CostLimitConfig, runId: string, at: string): Series {
  const span =
    scope === 'session' ? ({ kind: 'run', runId } as const) : ({ kind: 'day', day: at.slice(0, 10) } as const);
  return { metric: 'cost_usd', span, shape: 'sum' };
}
