import { EVENT_KINDS } from '@agentlens/contracts';
import { z } from 'zod';
import type { EventCondition } from '../../catalog/condition-module.ts';
import { ERROR_SHARE } from '../../windows/metrics.ts';

const ErrorRateConfig = z.strictObject({
  threshold: z.number().min(0).max(100).default(30).meta({ title: 'Threshold', unit: '%' }),
  windowMinutes: z.int().min(1).max(1440).default(5).meta({ title: 'Window', unit: 'min' }),
  minEvents: z.int().min(1).max(1_000_000).default(1).meta({ title: 'Least events in the window', unit: 'events' }),
});
type ErrorRateConfig = z.infer<typeof ErrorRateConfig>;

/** Share of the agent's events in a sliding window that are errors. An event is an error once (`isError`). */
export const errorRateThreshold: EventCondition<ErrorRateConfig> = {
  type: 'error_rate_threshold',
  title: 'Error rate',
  description: 'Errors make up too large a share of the events of an agent in a sliding window.',
  unit: '%',
  cadence: 'event',
  config: ErrorRateConfig,
  example: { threshold: 30, windowMinutes: 5, minEvents: 10 },
  phases: ['stream', 'decision'],
  listensTo: () => EVENT_KINDS,
  ready({ windowMinutes, minEvents }) {
    const shares = [{ metric: ERROR_SHARE, span: { kind: 'sliding', minutes: windowMinutes }, shape: 'sum' }] as const;
    return {
      series: () => shares,
      seriesAt: () => shares,
      measure([share]) {
        if (share === undefined || share.count === 0 || share.count < minEvents) return null;
        return (100 * share.sum) / share.count;
      },
    };
  },
  threshold: (config) => ({ operator: 'gte', value: config.threshold }),
  // Of a value that just reaches it, too: clients know this wording.
  message: (config, value) => `Error rate ${value.toFixed(1)}% exceeds threshold ${config.threshold}%`,
};
