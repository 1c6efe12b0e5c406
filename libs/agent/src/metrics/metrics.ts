import { open } from 'node:fs/promises';
import type { AgentResult } from '../agent/agent-result.ts';
import type { AgentEvent } from '../core/agent-event.ts';
import { redactStored } from '../core/redact.ts';
import type { AgentHandle } from '../runtime/agent-handle.ts';

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

export interface TraceOptions {
  readonly from?: 'start' | 'now';
  /** False: omits tool inputs. Default true. */
  readonly recordInputs?: boolean;
}

/**
 * Writes a session's events to a file, one JSON line each, until the session or the signal ends. A slow disk causes a
 * gap, which is also written as a line, and never a slow agent. Text deltas are omitted; complete texts are included,
 * without secrets and personal data.
 */
export async function traceTo(
  handle: AgentHandle,
  path: string,
  options: TraceOptions & { readonly signal?: AbortSignal } = {},
): Promise<void> {
  const { from = 'start', recordInputs = true, signal } = options;
  const file = await open(path, 'a', 0o600);
  try {
    for await (const event of handle.subscribe({ from, ...(signal === undefined ? {} : { signal }) })) {
      if (event.type === 'text-delta' || event.type === 'thinking-delta') continue;
      const kept = event.type === 'lagged' || recordInputs ? event : withoutInputs(event);
      await file.appendFile(`${JSON.stringify(redactStored(kept))}\n`);
    }
  } finally {
    await file.close();
  }
}

function withoutInputs(event: AgentEvent): AgentEvent {
  if (event.type === 'tool-start' || event.type === 'permission-request') return { ...event, input: '[left out]' };
  if (event.type === 'subagent-output') return { ...event, chunk: withoutInputs(event.chunk) };
  return event;
}
