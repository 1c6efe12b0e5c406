import type { AgentEvent, DecisionRequest } from '@agentlens/contracts';
import type { Addition } from '../../decisions/facts.ts';
import type { Series, WindowSpan } from '../../ports/window-store.ts';
import { isBuiltIn, quantityOf } from '../../windows/metrics.ts';
import type { Aggregate, MetricWindowConfig } from './metric-window-config.ts';

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
export function sourcesOf(config: MetricWindowConfig, { runId, actor }: DecisionRequest): readonly Series[] {
  const { scope, metric } = config;
  if (scope === 'agent_user') {
    return actor === undefined ? [] : [seriesOf(config, `${CALL_PREFIX}${metric}@${actor.externalId}`, runId)];
  }
  const event = eventName(metric);
  const sources = event === undefined ? [] : [seriesOf(config, event, runId)];
  return isBuiltIn(metric) ? sources : [...sources, seriesOf(config, CALL_PREFIX + metric, runId)];
}

/** Returns the series an event adds to, or null if it does not report the metric. */
export function feedOf(config: MetricWindowConfig, event: AgentEvent): readonly Series[] | null {
  const name = config.scope === 'agent_user' ? undefined : eventName(config.metric);
  return name === undefined || quantityOf(name, event) === null ? null : [seriesOf(config, name, event.runId)];
}

/**
 * Quantities that a request adds. The size of the arguments is sent before and after a call and counts once, before it.
 * For a sum, the arguments of a rejected call are subtracted again.
 */
export function additionsTo(
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
