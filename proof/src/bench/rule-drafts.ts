import type { HarnessRule } from '../harness/stack.ts';

/** Never called, because the rules that use it do not fire. */
const NOWHERE = { url: 'http://127.0.0.1:9/never' };
const QUIET = { actionType: 'notify_webhook', actionConfig: NOWHERE, cooldownMinutes: 15 } as const;
const UNREACHABLE = 1e15;

/**
 * Three rules on the error rate, three on cost, three on metrics and one on health, for every agent. None of them
 * fires.
 */
export const TEN_RULES: readonly HarnessRule[] = [
  errorRate('error rate, 1 min', 1),
  errorRate('error rate, 5 min', 5),
  errorRate('error rate, 1 h', 60),
  { ...QUIET, name: 'cost of a session', conditionType: 'cost_limit', conditionConfig: cost('session', 1e6) },
  { ...QUIET, name: 'cost of a day', conditionType: 'cost_limit', conditionConfig: cost('daily', 1e6) },
  { ...QUIET, name: 'cost of a day, higher', conditionType: 'cost_limit', conditionConfig: cost('daily', 1e7) },
  countOfEvents('events, 5 min', 5),
  metric('tokens, 1 h', { metricName: 'total_tokens', windowMinutes: 60 }),
  metric('latency, 5 min', { metricName: 'latency_ms', windowMinutes: 5, aggregate: 'p95' }),
  {
    ...QUIET,
    name: 'health',
    conditionType: 'health_score_threshold',
    conditionConfig: { minScore: 0, windowDays: 7 },
  },
];

/** Ten counts over windows of the same length. */
export function tenCountsOver(minutes: number): HarnessRule[] {
  return [
    errorRate('error rate', minutes),
    countOfEvents('events', minutes),
    ...['error_count', 'tool_call_count', 'llm_call_count', 'total_tokens', 'cost_usd', 'latency_ms'].map(
      (metricName) => metric(metricName, { metricName, windowMinutes: minutes }),
    ),
    metric('attempts', { metricKeyPath: 'attempt', windowMinutes: minutes }),
    metric('longest latency', { metricName: 'latency_ms', windowMinutes: minutes, aggregate: 'max' }),
  ];
}

/** Rules that count every event, each in its own window, so that they share nothing. */
export function distinctCounters(count: number): HarnessRule[] {
  return Array.from({ length: count }, (_, i) => countOfEvents(`events, ${i + 1} min`, i + 1));
}

/** Applies to every event of an agent that never sends one. */
export function ruleOfAbsentAgent(agentId: string): HarnessRule {
  return { ...countOfEvents('of an absent agent', 5), agentId };
}

/** Fires at each marker event of the load generator. The value of the trigger is the marker. */
export function atEveryMarker(action: { readonly webhookUrl: string } | 'dry run'): HarnessRule {
  const conditionConfig = {
    metricKeyPath: 'data.marker',
    operator: 'gt',
    value: 0,
    windowMinutes: 5,
    aggregate: 'last',
  };
  return {
    name: 'marker',
    conditionType: 'custom_metric',
    conditionConfig,
    actionType: 'notify_webhook',
    actionConfig: action === 'dry run' ? NOWHERE : { url: action.webhookUrl },
    cooldownMinutes: 0,
    dryRun: action === 'dry run',
  };
}

function errorRate(name: string, windowMinutes: number): HarnessRule {
  // No agent sends that many events in a window, so the rule never fires but is still measured.
  const conditionConfig = { threshold: 100, windowMinutes, minEvents: 1_000_000 };
  return { ...QUIET, name, conditionType: 'error_rate_threshold', conditionConfig };
}

function cost(scope: 'session' | 'daily', maxCostUsd: number): object {
  return { scope, maxCostUsd };
}

function countOfEvents(name: string, windowMinutes: number): HarnessRule {
  return metric(name, { metricName: 'event_count', windowMinutes });
}

function metric(name: string, config: object): HarnessRule {
  const conditionConfig = { operator: 'gt', value: UNREACHABLE, ...config };
  return { ...QUIET, name, conditionType: 'custom_metric', conditionConfig };
}
