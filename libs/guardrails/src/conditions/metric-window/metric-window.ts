import { EVENT_KINDS } from '@agentlens/contracts';
import type { CallCondition } from '../../catalog/condition-module.ts';
import { meets, withoutNoise } from '../../catalog/threshold.ts';
import type { DecisionAnswer } from '../../decisions/answer.ts';
import type { CallFacts } from '../../decisions/facts.ts';
import { numberTest } from '../../decisions/number-test.ts';
import type { Totals } from '../../ports/window-store.ts';
import { type Aggregate, MetricWindowConfig } from './metric-window-config.ts';
import { additionsTo, feedOf, sourcesOf } from './sources.ts';

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
