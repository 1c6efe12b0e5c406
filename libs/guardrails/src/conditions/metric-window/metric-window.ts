import { type AgentEvent, type DecisionRequest, EVENT_KINDS } from '@agentlens/contracts';
import { z } from 'zod';
import type { CallCondition } from '../../catalog/condition-module.ts';
import { meets, OPERATORS, withoutNoise } from '../../catalog/threshold.ts';
import { type DecisionAnswer, numberTest } from '../../decisions/answer.ts';
import type { Addition, CallFacts } from '../../decisions/facts.ts';
import type { Series, Totals, WindowSpan } from '../../ports/window-store.ts';
import { BUILT_IN_METRICS, isBuiltIn, quantityOf } from '../../windows/metrics.ts';

const AGGREGATES = ['sum', 'avg', 'max', 'min', 'count'] as const;
type Aggregate = (typeof AGGREGATES)[number];

const MetricWindowConfig = z
  .strictObject({
    metric: z
      .string()
      .regex(/^[A-Za-z][\w.-]{0,63}$/, 'must be a letter followed by up to 63 letters, digits, "_", "." or "-"')
      .meta({
        title: 'Metric',
        description: `What calls report (bytes_in, bytes_out, duration_ms, records_in, records_out, llm_tokens_in, llm_tokens_out, llm_cost_usd, or a name of your own), or what events report (${Object.keys(BUILT_IN_METRICS).join(', ')}).`,
      }),
    aggregate: z.enum(AGGREGATES).default('sum').meta({ title: 'Over the window' }),
    operator: z.enum(OPERATORS).default('gt').meta({ title: 'Is' }),
    value: z.number().meta({ title: 'Compared with' }),
    scope: z.enum(['run', 'agent', 'agent_user']).default('run').meta({ title: 'Of' }),
    windowMinutes: z.int().min(1).max(1440).optional().meta({ title: 'Window', unit: 'min' }),
    onMissing: z.enum(['allow', 'block']).optional().meta({ title: 'If nothing was reported' }),
  })
  .check(({ value, issues }) => {
    const { scope, windowMinutes, metric } = value;
    if ((scope === 'run') !== (windowMinutes === undefined)) {
      const message =
        scope === 'run' ? 'is for agents and end users; a run is measured whole' : `is required for ${scope}`;
      issues.push({ code: 'custom', path: ['windowMinutes'], message, input: value });
    }
    if (scope === 'agent_user' && isBuiltIn(metric)) {
      const message = 'comes from events, which do not say on whose behalf; measure one that calls report';
      issues.push({ code: 'custom', path: ['metric'], message, input: value });
    }
  });
type MetricWindowConfig = z.infer<typeof MetricWindowConfig>;

/** A quantity of the run, or of the agent (optionally per end user) in a sliding window, including this call. */
export const metricWindow: CallCondition<MetricWindowConfig> = {
  type: 'metric_window',
  title: 'Metric over a window',
  description: 'Compares a quantity that calls or events report, over the run or a sliding window, with a value.',
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
    const measure = ({ request, including }: CallFacts): number | DecisionAnswer => {
      const totals = sourcesOf(config, request).map(including);
      if (totals.includes(null)) return 'unavailable';
      const quantity = greatest(totals.map((one) => (one === null ? null : AGGREGATE[aggregate](one))));
      return quantity ?? (onMissing === undefined ? 'missing' : onMissing === 'block');
    };
    return {
      reads: ['actor', 'metrics'],
      countsCall: () => true,
      feeds: [{ kinds: EVENT_KINDS, series: (event) => feedOf(config, event) }],
      needs(request) {
        const sources = sourcesOf(config, request);
        return { series: sources, additions: additionsTo(sources, request, aggregate) };
      },
      ...numberTest(measure, value, (quantity) => meets(withoutNoise(quantity), { operator, value })),
    };
  },
};

/** Each of the two sources of a quantity can lag, so the larger is closer to the truth. They are never added. */
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

/**
 * Metrics that both calls and events report, from the call's name to the event's. Events are authoritative and arrive
 * later.
 */
const TWICE_REPORTED: Readonly<Record<string, string>> = {
  llm_tokens_in: 'input_tokens',
  llm_tokens_out: 'output_tokens',
  llm_cost_usd: 'cost_usd',
};

const CALL_PREFIX = 'call:';

/** Returns the series a metric is read from; empty if it is counted per end user and the request names none. */
function sourcesOf(config: MetricWindowConfig, { runId, actor }: DecisionRequest): readonly Series[] {
  const { scope, metric } = config;
  if (scope === 'agent_user') {
    return actor === undefined ? [] : [seriesOf(config, `${CALL_PREFIX}${metric}@${actor.externalId}`, runId)];
  }
  const event = eventName(metric);
  const sources = event === undefined ? [] : [seriesOf(config, event, runId)];
  return isBuiltIn(metric) ? sources : [...sources, seriesOf(config, CALL_PREFIX + metric, runId)];
}

/** Returns the series an event adds to, or null if it does not report the metric. */
function feedOf(config: MetricWindowConfig, event: AgentEvent): readonly Series[] | null {
  const name = config.scope === 'agent_user' ? undefined : eventName(config.metric);
  return name === undefined || quantityOf(name, event) === null ? null : [seriesOf(config, name, event.runId)];
}

/**
 * Quantities that a request adds. The size of the arguments is sent before and after a call and counts once, before it.
 * For a sum, the arguments of a rejected call are subtracted again.
 */
function additionsTo(
  sources: readonly Series[],
  { phase, metrics }: DecisionRequest,
  aggregate: Aggregate,
): Addition[] {
  return sources.flatMap((series): Addition[] => {
    const [prefixed = ''] = series.metric.split('@');
    if (!prefixed.startsWith(CALL_PREFIX)) return [];
    const key = prefixed.slice(CALL_PREFIX.length);
    const value = Object.hasOwn(metrics, key) ? metrics[key] : undefined;
    const ofArguments = key === 'bytes_in';
    if (value === undefined || !Number.isFinite(value) || (ofArguments && phase === 'tool.after')) return [];
    return [{ series, value, because: ofArguments && aggregate === 'sum' ? 'call' : 'report' }];
  });
}

function eventName(metric: string): string | undefined {
  return isBuiltIn(metric) ? metric : TWICE_REPORTED[metric];
}

function seriesOf({ scope, windowMinutes = 1, aggregate }: MetricWindowConfig, metric: string, runId: string): Series {
  const span: WindowSpan = scope === 'run' ? { kind: 'run', runId } : { kind: 'sliding', minutes: windowMinutes };
  return { metric, span, shape: aggregate === 'max' || aggregate === 'min' ? 'spread' : 'sum' };
}
