import { EVENT_KINDS, type EventKind } from '@agentlens/contracts';
import { z } from 'zod';
import type { EventCondition } from '../../catalog/condition-module.ts';
import { OPERATORS, type Operator } from '../../catalog/threshold.ts';
import type { Series } from '../../ports/window-store.ts';
import {
  BUILT_IN_METRICS,
  type BuiltInMetricName,
  isBuiltIn,
  pathMetric,
  quantityReader,
} from '../../windows/metrics.ts';
import type { SeriesTotals } from '../../windows/totals.ts';

export const AGGREGATES = ['last', 'sum', 'avg', 'min', 'max', 'count', 'p95'] as const;
type Aggregate = (typeof AGGREGATES)[number];

const path = z
  .string()
  .min(1)
  .max(200)
  .regex(/^[^.\s]+(\.[^.\s]+)*$/, 'must be a name, or names joined by dots, like "usage.retries"');

const CustomMetricConfig = z
  .strictObject({
    metricName: path.optional().meta({
      title: 'Metric',
      description: `One of ${Object.keys(BUILT_IN_METRICS).join(', ')}, or a dot path to a number.`,
    }),
    metricKeyPath: path.optional().meta({
      title: 'Key path',
      description: 'Dot path to a number in the metadata or payload of events.',
    }),
    operator: z.enum(OPERATORS).default('gt').meta({ title: 'Fires when the value is' }),
    value: z.number().default(0).meta({ title: 'Compared with' }),
    windowMinutes: z.int().min(1).max(1440).default(60).meta({ title: 'Window', unit: 'min' }),
    aggregate: z.enum(AGGREGATES).optional().meta({
      title: 'Over the window',
      description: 'Default: the sum for counts, tokens and cost, the last value for everything else.',
    }),
  })
  .check((context) => {
    if (context.value.metricName === undefined && context.value.metricKeyPath === undefined) {
      context.issues.push({
        code: 'custom',
        path: ['metricName'],
        message: 'is required, give a built-in name, or a dot path in metricKeyPath',
        input: context.value,
      });
    }
  });
type CustomMetricConfig = z.infer<typeof CustomMetricConfig>;

const SYMBOL: Record<Operator, string> = { gt: '>', gte: '>=', lt: '<', lte: '<=', eq: '=' };
const SUMMED = new Set(['tokens', 'USD']);
const CALLS: Partial<Record<string, readonly EventKind[]>> = {
  tool_call_count: ['tool.called', 'tool.completed'],
  llm_call_count: ['llm.called', 'llm.completed'],
};

/** A number that the agent reports, or a built-in metric, aggregated over a sliding window. */
export const customMetric: EventCondition<CustomMetricConfig> = {
  type: 'custom_metric',
  title: 'Custom metric',
  description: 'Compares a number in events, or a built-in metric, with a value over a sliding window.',
  unit: '',
  cadence: 'event',
  config: CustomMetricConfig,
  example: { metricName: 'total_tokens', operator: 'gt', value: 100_000, windowMinutes: 60, aggregate: 'sum' },
  phases: ['stream', 'decision'],
  listensTo: (config) => CALLS[builtInOf(config) ?? ''] ?? EVENT_KINDS,
  ready(config) {
    const series = seriesOf(config);
    const list = [series];
    const quantity = quantityReader(series.metric);
    const aggregate = AGGREGATE[aggregateOf(config)];
    return {
      // A count is known at every event. A quantity is measured only on events that report one; otherwise an old
      // reading would fire repeatedly.
      series: isCount(config) ? () => list : (event) => (quantity(event) === null ? null : list),
      seriesAt: () => list,
      measure: ([totals]) => (totals === undefined ? null : aggregate(totals)),
    };
  },
  threshold: (config) => ({ operator: config.operator, value: config.value }),
  message: (config, value) =>
    `${nameOf(config)} (${aggregateOf(config)} over ${config.windowMinutes} min) is ${value}, ${SYMBOL[config.operator]} ${config.value}`,
};

const AGGREGATE: Record<Aggregate, (totals: SeriesTotals) => number | null> = {
  last: (totals) => totals.last,
  sum: (totals) => totals.sum,
  avg: (totals) => (totals.count === 0 ? null : totals.sum / totals.count),
  min: (totals) => totals.min,
  max: (totals) => totals.max,
  count: (totals) => totals.count,
  p95: (totals) => totals.quantile(0.95),
};

function nameOf(config: CustomMetricConfig): string {
  return config.metricKeyPath ?? config.metricName ?? '';
}

/** If both keys are set, as older clients do, the path takes precedence. */
function builtInOf({ metricName = '', metricKeyPath }: CustomMetricConfig): BuiltInMetricName | null {
  return metricKeyPath === undefined && isBuiltIn(metricName) ? metricName : null;
}

function isCount(config: CustomMetricConfig): boolean {
  const name = builtInOf(config);
  return name !== null && BUILT_IN_METRICS[name].nature === 'count';
}

function aggregateOf(config: CustomMetricConfig): Aggregate {
  if (config.aggregate !== undefined) return config.aggregate;
  const name = builtInOf(config);
  if (name === null) return 'last';
  const metric = BUILT_IN_METRICS[name];
  return metric.nature === 'count' || SUMMED.has(metric.unit) ? 'sum' : 'last';
}

function seriesOf(config: CustomMetricConfig): Series {
  const metric = builtInOf(config) ?? pathMetric(nameOf(config));
  const aggregate = aggregateOf(config);
  const shape = aggregate === 'p95' ? 'quantiles' : ['last', 'min', 'max'].includes(aggregate) ? 'spread' : 'sum';
  return { metric, span: { kind: 'sliding', minutes: config.windowMinutes }, shape };
}
