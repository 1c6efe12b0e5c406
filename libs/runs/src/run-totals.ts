import { REPORTS_ENDED_CALLS } from '@agentlens/contracts';
import type { FoldedEvent } from './folded-event.ts';

/** Decimal places of amounts: 1e-12 dollars, less than the price of any token. */
const PLACES = 12;

/**
 * Converts USD to whole units of 1e-12, so that sums are exact in any order. Rounds the decimal text half away from
 * zero, like Postgres `numeric(24,12)`.
 */
export function picoUsd(usd: number): bigint {
  if (usd === 0) return 0n;
  const [digits = '0', exponent = '0'] = String(Math.abs(usd)).split('e');
  const [whole = '', fraction = ''] = digits.split('.');
  const shift = PLACES + Number(exponent) - fraction.length;
  const unscaled = BigInt(whole + fraction);
  const pico = shift >= 0 ? unscaled * 10n ** BigInt(shift) : roundedQuotient(unscaled, 10n ** BigInt(-shift));
  return usd < 0 ? -pico : pico;
}

/** Decimal text that JavaScript and Postgres read without loss, for example `400000e-12`. */
export function usdText(pico: bigint): string {
  return `${pico}e-${PLACES}`;
}

/** Nearest double. */
export function usdOf(pico: bigint): number {
  return Number(usdText(pico));
}

function roundedQuotient(dividend: bigint, divisor: bigint): bigint {
  return (dividend + divisor / 2n) / divisor;
}

/** Totals over the events of a run, an agent or a day. */
export interface RunTotals {
  readonly events: number;
  readonly errors: number;
  readonly toolCalls: number;
  readonly toolErrors: number;
  /** Tool calls that ended, successfully or not: the current step of the run. */
  readonly steps: number;
  /** Model calls that ended, like those that breakers count: a client may report only the answer. */
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

/** Contribution of one event to the totals of its run, agent and day. */
export function totalsOf({ kind, dialect, isError, usage }: FoldedEvent): RunTotals {
  const endsTool = kind === 'tool.completed';
  const ended = REPORTS_ENDED_CALLS.has(dialect);
  return {
    events: 1,
    errors: Number(isError),
    toolCalls: Number(ended ? endsTool : kind === 'tool.called'),
    toolErrors: Number(endsTool && isError),
    steps: Number(endsTool),
    llmCalls: Number(kind === 'llm.completed'),
    inputTokens: Math.round(usage?.inputTokens ?? 0),
    outputTokens: Math.round(usage?.outputTokens ?? 0),
    totalTokens: Math.round(usage?.totalTokens ?? 0),
    cacheReadTokens: Math.round(usage?.cacheReadTokens ?? 0),
    cacheWriteTokens: Math.round(usage?.cacheWriteTokens ?? 0),
    picoUsd: usage?.costUsd ? picoUsd(usage.costUsd) : 0n,
    unpriced: Number(usage?.costSource === 'unpriced'),
  };
}

/** Sum of all totals; zero for none. */
export function sumOfAll(all: Iterable<RunTotals>): RunTotals {
  let sum = NO_TOTALS;
  for (const totals of all) sum = sumOf(sum, totals);
  return sum;
}

/** Written out for speed, because it runs twice per event. */
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

/** Upper bounds of the latency histogram of decisions, ms. The last count is of everything above. */
export const LATENCY_BOUNDS_MS = [
  0.25, 0.5, 1, 2, 4, 8, 16, 32, 64, 125, 250, 500, 1_000, 2_000, 4_000, 8_000,
] as const;

/**
 * The latency that a share of all decisions did not exceed, interpolated within its bucket; null without decisions.
 * Values above the last bound count as that bound.
 */
export function latencyAt(share: number, counts: readonly number[]): number | null {
  const total = counts.reduce((sum, count) => sum + count, 0);
  if (total === 0) return null;
  const wanted = share * total;
  let seen = 0;
  for (const [index, count] of counts.entries()) {
    const upper = LATENCY_BOUNDS_MS[index];
    if (upper === undefined) break;
    if (count > 0 && seen + count >= wanted) {
      const lower = LATENCY_BOUNDS_MS[index - 1] ?? 0;
      return lower + ((upper - lower) * Math.max(0, wanted - seen)) / count;
    }
    seen += count;
  }
  return LATENCY_BOUNDS_MS.at(-1) ?? null;
}
