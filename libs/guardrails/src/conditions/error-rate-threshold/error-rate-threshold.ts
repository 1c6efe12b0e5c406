import { EVENT_KINDS, type EventKind } from '@agentlens/contracts';
import { z } from 'zod';
import type { EventCondition } from '../../catalog/condition-module.ts';
import type { Series, WindowSpan } from '../../ports/window-store.ts';
import { CALL_SHARES, ERROR_SHARE, FAILURES_BESIDE_CALLS, FINISHED_CALLS } from '../../windows/metrics.ts';
import type { SeriesTotals } from '../../windows/totals.ts';

const COUNTED = ['calls', 'tools', 'models', 'events'] as const;
type Counted = (typeof COUNTED)[number];

const ErrorRateConfig = z.strictObject({
  threshold: z.number().min(0).max(100).default(30).meta({ title: 'Threshold', unit: '%' }),
  windowMinutes: z.int().min(1).max(1440).default(5).meta({ title: 'Window', unit: 'min' }),
  of: z.enum(COUNTED).default('events').meta({
    title: 'Share of',
    description: 'Finished tool and model calls, only tool or only model calls, or events of any kind.',
  }),
  minEvents: z.int().min(1).max(1_000_000).default(1).meta({
    title: 'At least',
    description: 'Minimum number in the window for the rule to be measured.',
  }),
});
type ErrorRateConfig = z.infer<typeof ErrorRateConfig>;

/** Share of an agent's finished calls, or of its events, that failed within a sliding window. */
export const errorRateThreshold: EventCondition<ErrorRateConfig> = {
  type: 'error_rate_threshold',
  title: 'Error rate',
  description: 'Too many calls or events of an agent in a sliding window failed.',
  unit: '%',
  cadence: 'event',
  config: ErrorRateConfig,
  example: { threshold: 30, windowMinutes: 5, of: 'calls', minEvents: 5 },
  phases: ['stream', 'decision'],
  listensTo: ({ of }) => KINDS[of],
  ready({ windowMinutes, minEvents, of }) {
    const span: WindowSpan = { kind: 'sliding', minutes: windowMinutes };
    const series = METRICS[of].map((metric): Series => ({ metric, span, shape: 'sum' }));
    return {
      series: () => series,
      seriesAt: () => series,
      measure([share, beside]) {
        if (share === undefined) return null;
        const untraced = beside === undefined ? 0 : untracedFailures(share, beside);
        const count = share.count + untraced;
        if (count === 0 || count < minEvents) return null;
        return (100 * (share.sum + untraced)) / count;
      },
    };
  },
  threshold: (config) => ({ operator: 'gte', value: config.threshold }),
  // Says "exceeds" even if the rate only reaches the threshold, because clients know this wording.
  message: (config, value) => `Error rate ${value.toFixed(1)}% exceeds threshold ${config.threshold}%`,
};

const METRICS: Readonly<Record<Counted, readonly string[]>> = {
  calls: [CALL_SHARES.calls, FAILURES_BESIDE_CALLS],
  tools: [CALL_SHARES.tools],
  models: [CALL_SHARES.models],
  events: [ERROR_SHARE],
};

const KINDS: Readonly<Record<Counted, readonly EventKind[]>> = {
  ...FINISHED_CALLS,
  calls: [...FINISHED_CALLS.calls, 'error.raised', 'run.ended'],
  events: EVENT_KINDS,
};

/**
 * Number of failed calls without a call event, because some frameworks trace no failed call. A failed call, the error
 * it raises and the run it ends are one failure reported three times, so only the surplus over reported failed calls
 * counts.
 */
function untracedFailures(calls: SeriesTotals, beside: SeriesTotals): number {
  const [raised, failedRuns] = [beside.sum, beside.count - beside.sum];
  return Math.max(0, raised - calls.sum, failedRuns - calls.sum);
}
