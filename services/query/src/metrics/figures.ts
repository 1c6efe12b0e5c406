import type { CallMetrics, TaskMetrics } from '@agentlens/operations';

/** Subject of a row of figures: the total, or one time bucket, agent, model or tool. */
export interface About {
  readonly by: 'all' | 'time' | 'agent' | 'tool' | 'model';
  readonly key: string | null;
}

type Percentiles = readonly [p50: number, p95: number, p99: number] | null;

export interface TaskFigures extends Omit<TaskMetrics, 'successRate' | 'stepsPerTask' | 'durationMs'> {
  readonly finishedSteps: number;
  readonly duration: Percentiles;
}

export interface CallFigures {
  readonly calls: number;
  readonly errors: number;
  readonly latency: Percentiles;
}

const NO_TASKS: TaskFigures = {
  started: 0,
  finished: 0,
  succeeded: 0,
  finishedSteps: 0,
  duration: null,
  inputTokens: 0,
  outputTokens: 0,
  totalTokens: 0,
  cacheReadTokens: 0,
  cacheWriteTokens: 0,
  costUsd: 0,
};

/** A rate without samples is null, not zero. */
export function taskMetrics(figures: TaskFigures = NO_TASKS): TaskMetrics {
  const { started, finished, succeeded, finishedSteps, duration } = figures;
  const { inputTokens, outputTokens, totalTokens, cacheReadTokens, cacheWriteTokens, costUsd } = figures;
  return {
    started,
    finished,
    succeeded,
    successRate: share(succeeded, finished),
    stepsPerTask: share(finishedSteps, finished),
    durationMs: named(duration),
    inputTokens,
    outputTokens,
    totalTokens,
    cacheReadTokens,
    cacheWriteTokens,
    costUsd,
  };
}

export function callMetrics(
  { calls, errors, latency }: CallFigures = { calls: 0, errors: 0, latency: null },
): CallMetrics {
  return { calls, errors, errorRate: share(errors, calls), latencyMs: named(latency) };
}

/** Joins both kinds of figures by subject, and keeps subjects that have only one kind. */
export function aligned(
  by: About['by'],
  tasks: readonly (About & TaskFigures)[],
  calls: readonly (About & CallFigures)[],
): { readonly key: string; readonly tasks: TaskMetrics; readonly toolCalls: CallMetrics }[] {
  const tasksOf = new Map(tasks.filter((row) => row.by === by).map((row) => [row.key ?? '', row]));
  const callsOf = new Map(calls.filter((row) => row.by === by).map((row) => [row.key ?? '', row]));
  return [...new Set([...tasksOf.keys(), ...callsOf.keys()])].map((key) => ({
    key,
    tasks: taskMetrics(tasksOf.get(key)),
    toolCalls: callMetrics(callsOf.get(key)),
  }));
}

function share(part: number, whole: number): number | null {
  return whole === 0 ? null : part / whole;
}

function named(percentiles: Percentiles) {
  if (percentiles === null) return null;
  const [p50, p95, p99] = percentiles;
  return { p50, p95, p99 };
}
