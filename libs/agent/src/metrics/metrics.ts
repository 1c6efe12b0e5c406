import type { AgentResult } from '../agent/agent-result.ts';

export interface ToolMetrics {
  readonly calls: number;
  readonly errors: number;
  readonly errorRate: number;
  /** Ms. */
  readonly latency: { readonly p50: number; readonly p95: number; readonly max: number };
}

export interface AgentMetrics {
  readonly runs: number;
  readonly successRate: number;
  /** Of successful runs. */
  readonly stepsPerTask: number;
  readonly tools: Readonly<Record<string, ToolMetrics>>;
  readonly tokens: { readonly input: number; readonly output: number; readonly total: number; readonly perRun: number };
  /** USD; absent if the cost of a run is unknown. */
  readonly costUsd?: number;
  /** Ms. */
  readonly duration: { readonly p50: number; readonly p95: number; readonly max: number };
}

/** Key figures of run results; deterministic. */
export function metricsOf(results: readonly AgentResult[]): AgentMetrics {
  const succeeded = results.filter(({ success }) => success);
  const byTool = Map.groupBy(
    results.flatMap(({ actions }) => actions),
    ({ toolId }) => toolId,
  );
  const tools = [...byTool]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, actions]): [string, ToolMetrics] => {
      const errors = actions.filter(({ isError }) => isError).length;
      const latency = quantiles(actions.map(({ durationMs }) => durationMs));
      return [name, { calls: actions.length, errors, errorRate: ratio(errors, actions.length), latency }];
    });
  const sum = (of: (result: AgentResult) => number) => results.reduce((total, result) => total + of(result), 0);
  const total = sum(({ tokenUsage }) => tokenUsage.total);
  const known = results.every(({ costEstimate }) => costEstimate !== undefined);
  return {
    runs: results.length,
    successRate: ratio(succeeded.length, results.length),
    stepsPerTask: ratio(
      succeeded.reduce((steps, result) => steps + result.steps, 0),
      succeeded.length,
    ),
    tools: Object.fromEntries(tools),
    tokens: {
      input: sum(({ tokenUsage }) => tokenUsage.inputTokens),
      output: sum(({ tokenUsage }) => tokenUsage.outputTokens),
      ...{ total, perRun: ratio(total, results.length) },
    },
    ...(known ? { costUsd: sum(({ costEstimate = 0 }) => costEstimate) } : {}),
    duration: quantiles(results.map(({ metrics }) => metrics.durationMs)),
  };
}

function ratio(part: number, whole: number): number {
  return whole === 0 ? 0 : part / whole;
}

function quantiles(values: readonly number[]) {
  const sorted = values.toSorted((a, b) => a - b);
  const at = (share: number) => sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? 0;
  return { p50: at(0.5), p95: at(0.95), max: at(1) };
}
