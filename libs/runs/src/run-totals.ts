import { REPORTS_ENDED_CALLS } from '@agentlens/contracts';
import type { FoldedEvent } from './folded-event.ts';
import { picoUsd } from './money.ts';

/** What is added up over the events of a run, an agent or a day. */
export interface RunTotals {
  readonly events: number;
  readonly errors: number;
  readonly toolCalls: number;
  readonly toolErrors: number;
  /** Tool calls that came to an end, well or not: the run's current step. */
  readonly steps: number;
  readonly llmCalls: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly totalTokens: number;
  readonly cacheReadTokens: number;
  readonly cacheWriteTokens: number;
  readonly picoUsd: bigint;
  readonly unpriced: number;
}

export const NO_TOTALS: RunTotals = {
  events: 0,
  errors: 0,
  toolCalls: 0,
  toolErrors: 0,
  steps: 0,
  llmCalls: 0,
  inputTokens: 0,
  outputTokens: 0,
  totalTokens: 0,
  cacheReadTokens: 0,
  cacheWriteTokens: 0,
  picoUsd: 0n,
  unpriced: 0,
};

/** What one event adds to the totals of its run, its agent and its day. */
export function totalsOf({ kind, dialect, isError, usage }: FoldedEvent): RunTotals {
  const endsTool = kind === 'tool.completed';
  const ended = REPORTS_ENDED_CALLS.has(dialect);
  return {
    events: 1,
    errors: Number(isError),
    toolCalls: Number(ended ? endsTool : kind === 'tool.called'),
    toolErrors: Number(endsTool && isError),
    steps: Number(endsTool),
    llmCalls: Number(kind === (ended ? 'llm.completed' : 'llm.called')),
    inputTokens: Math.round(usage?.inputTokens ?? 0),
    outputTokens: Math.round(usage?.outputTokens ?? 0),
    totalTokens: Math.round(usage?.totalTokens ?? 0),
    cacheReadTokens: Math.round(usage?.cacheReadTokens ?? 0),
    cacheWriteTokens: Math.round(usage?.cacheWriteTokens ?? 0),
    picoUsd: usage?.costUsd ? picoUsd(usage.costUsd) : 0n,
    unpriced: Number(usage?.costSource === 'unpriced'),
  };
}

/** All of them together; nothing of none. */
export function sumOfAll(all: Iterable<RunTotals>): RunTotals {
  let sum = NO_TOTALS;
  for (const totals of all) sum = sumOf(sum, totals);
  return sum;
}

/** Written out: this is done twice for every event. */
export function sumOf(a: RunTotals, b: RunTotals): RunTotals {
  return {
    events: a.events + b.events,
    errors: a.errors + b.errors,
    toolCalls: a.toolCalls + b.toolCalls,
    toolErrors: a.toolErrors + b.toolErrors,
    steps: a.steps + b.steps,
    llmCalls: a.llmCalls + b.llmCalls,
    inputTokens: a.inputTokens + b.inputTokens,
    outputTokens: a.outputTokens + b.outputTokens,
    totalTokens: a.totalTokens + b.totalTokens,
    cacheReadTokens: a.cacheReadTokens + b.cacheReadTokens,
    cacheWriteTokens: a.cacheWriteTokens + b.cacheWriteTokens,
    picoUsd: a.picoUsd + b.picoUsd,
    unpriced: a.unpriced + b.unpriced,
  };
}
