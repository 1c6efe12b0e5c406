import { EVENT_KINDS } from '@agentlens/contracts';
import { z } from 'zod';
import type { EventCondition } from '../../catalog/condition-module.ts';
import type { Series, WindowSpan } from '../../ports/window-store.ts';

/** Length of `2026-03-01`. */
const DAY_CHARS = 10;

const CostLimitConfig = z.strictObject({
  maxCostUsd: z.number().min(0).max(1_000_000_000).default(10).meta({ title: 'Limit', unit: 'USD' }),
  scope: z.enum(['session', 'daily']).default('daily').meta({ title: 'Counted over' }),
});
type CostLimitConfig = z.infer<typeof CostLimitConfig>;

/** Cost of a run, or of an agent within one UTC day. */
export const costLimit: EventCondition<CostLimitConfig> = {
  type: 'cost_limit',
  title: 'Cost limit',
  description: 'The cost of a session, or of an agent within one UTC day, reached the limit.',
  unit: 'USD',
  cadence: 'event',
  config: CostLimitConfig,
  example: { maxCostUsd: 5, scope: 'session' },
  phases: ['stream', 'decision'],
  // Every kind: an agent that continues after reaching its limit must trigger again with its next event of any kind.
  listensTo: () => EVENT_KINDS,
  ready({ scope }) {
    const spent = scope === 'session' ? spentOnRuns() : spentOnDays();
    return {
      series: ({ runId, occurredAt }) => spent(runId, occurredAt),
      seriesAt: ({ runId, nowMs }) => spent(runId, new Date(nowMs).toISOString()),
      measure: ([cost]) => cost?.sum ?? 0,
    };
  },
  threshold: (config) => ({ operator: 'gte', value: config.maxCostUsd }),
  // Says "exceeds" even if the cost only reaches the limit, because clients know this wording.
  message: (config, value) =>
    `${config.scope === 'session' ? 'Session' : 'Daily'} cost $${value.toFixed(4)} exceeds limit $${config.maxCostUsd}`,
};

/** Series of a run's or a day's cost. Reuses the previous series while the run or day stays the same. */
type Spent = (runId: string, at: string) => readonly Series[];

function spentOnRuns(): Spent {
  let last = seriesOver({ kind: 'run', runId: '' });
  let lastRun = '';
  return (runId) => {
    if (runId !== lastRun) {
      lastRun = runId;
      last = seriesOver({ kind: 'run', runId });
    }
    return last;
  };
}

function spentOnDays(): Spent {
  let last = seriesOver({ kind: 'day', day: '' });
  let lastDay = '';
  return (_, at) => {
    if (lastDay === '' || !at.startsWith(lastDay)) {
      lastDay = at.slice(0, DAY_CHARS);
      last = seriesOver({ kind: 'day', day: lastDay });
    }
    return last;
  };
}

function seriesOver(span: WindowSpan): readonly Series[] {
  return [{ metric: 'cost_usd', span, shape: 'sum' }];
}
