import { EVENT_KINDS } from '@agentlens/contracts';
import { z } from 'zod';
import type { CallCondition } from '../../catalog/condition-module.ts';
import { meets, OPERATORS, withoutNoise } from '../../catalog/threshold.ts';
import type { Totals } from '../../ports/window-store.ts';
import { additionsTo, EVENT_METRICS, feedOf, isEventMetric, sourcesOf } from './sources.ts';

const AGGREGATES = ['sum', 'avg', 'max', 'min', 'count'] as const;
type Aggregate = (typeof AGGREGATES)[number];

const MetricWindowConfig = z
  .strictObject({
    metric: z
      .string()
      .regex(/^[A-Za-z][\w.-]{0,63}$/, 'must be a letter followed by up to 63 letters, digits, "_", "." or "-"')
      .meta({
        title: 'Metric',
        description: `What calls report (bytes_in, bytes_out, duration_ms, records_in, records_out, llm_tokens_in, llm_tokens_out, llm_cost_usd, or a name of your own), or what events report (${EVENT_METRICS.join(', ')}).`,
      }),
    aggregate: z.enum(AGGREGATES).default('sum').meta({ title: 'Over the window' }),
    operator: z.enum(OPERATORS).default('gt').meta({ title: 'Is' }),
    value: z.number().meta({ title: 'Compared with' }),
    scope: z.enum(['run', 'agent', 'agent_user']).default('run').meta({ title: 'Of' }),
    windowMinutes: z.int().min(1).max(1440).optional().meta({ title: 'Window', unit: 'min' }),
    onMissing: z.enum(['allow', 'block']).optional().meta({ title: 'Where nothing was reported' }),
  })
  .check(({ value, issues }) => {
    const { scope, windowMinutes, metric } = value;
    if ((scope === 'run') !== (windowMinutes === undefined)) {
      const message =
        scope === 'run' ? 'is for agents and end users; a run is measured whole' : `is required for ${scope}`;
      issues.push({ code: 'custom', path: ['windowMinutes'], message, input: value });
    }
    if (scope === 'agent_user' && isEventMetric(metric)) {
      const message = 'comes from events, which do not say on whose behalf; measure one that calls report';
      issues.push({ code: 'custom', path: ['metric'], message, input: value });
    }
  });
export type MetricWindowConfig = z.infer<typeof MetricWindowConfig>;

/** A quantity of the run, or of the agent (for one end user) in a sliding window, this call included. */
export const metricWindow: CallCondition<MetricWindowConfig> = {
  type: 'metric_window',
  title: 'Metric over a window',
  description: 'A quantity that calls or events report, over the run or a sliding window, compared with a value.',
  unit: '',
  cadence: 'call',
  config: MetricWindowConfig,
  example: {
    metric: 'bytes_out',
    aggregate: 'sum',
    operator: 'gt',
    value: 1_000_000,
    scope: 'agent',
    windowMinutes: 60,
  },
  phases: ['decision'],
  askedIn: ['tool.before', 'tool.after', 'llm.before'],
  ready(config) {
    const { aggregate, operator, value, onMissing } = config;
    return {
      counts: true,
      feeds: [{ kinds: EVENT_KINDS, series: (event) => feedOf(config, event) }],
      needs(request) {
        const sources = sourcesOf(config, request);
        return { series: sources, additions: additionsTo(sources, request, aggregate) };
      },
      matches({ request, including }) {
        const totals = sourcesOf(config, request).map(including);
        if (totals.includes(null)) return 'unavailable';
        const measured = greatest(totals.map((one) => (one === null ? null : AGGREGATE[aggregate](one))));
        if (measured !== null) return meets(withoutNoise(measured), { operator, value });
        return onMissing === undefined ? 'missing' : onMissing === 'block';
      },
    };
  },
};

/** Two sources of one quantity may each lag behind: the larger is nearer the truth, and they are never added. */
function greatest(values: readonly (number | null)[]): number | null {
  const known = values.filter((value) => value !== null);
  return known.length === 0 ? null : Math.max(...known);
}

const AGGREGATE: Record<Aggregate, (totals: Totals) => number | null> = {
  sum: ({ count, sum }) => (count === 0 ? null : sum),
  avg: ({ count, sum }) => (count === 0 ? null : sum / count),
  max: ({ max }) => max,
  min: ({ min }) => min,
  count: ({ count }) => count,
};
