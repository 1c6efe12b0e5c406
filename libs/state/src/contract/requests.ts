import type { AdvanceRequest, Series, Totals } from '@agentlens/guardrails';

/** Builders for the contract suites. */
export const START_MS = Date.parse('2026-03-01T12:00:00.000Z');

export function sliding(minutes: number, metric = 'latency_ms', shape: Series['shape'] = 'sum'): Series {
  return { metric, span: { kind: 'sliding', minutes }, shape };
}

let made = 0;
/** A name that is unique in this process, so that suites can share one server. */
export function fresh(prefix: string): string {
  made += 1;
  return `${prefix}-${process.pid}-${made}`;
}

export function anAdvance(overrides: Partial<AdvanceRequest> = {}): AdvanceRequest {
  return {
    tenantId: 'acme',
    agentId: 'agent',
    messageId: fresh('message'),
    nowMs: START_MS,
    series: [],
    increments: [],
    retryable: [],
    cooldowns: [],
    ...overrides,
  };
}

/** A batch whose events contribute one value each to a single series. */
export function batchOf(
  agentId: string,
  series: Series,
  nowMs: number,
  values: readonly { readonly atMs: number; readonly value: number }[],
): AdvanceRequest {
  return anAdvance({
    agentId,
    nowMs,
    series: [series],
    increments: values.map(({ atMs, value }, event) => ({ series: 0, event, atMs, value })),
  });
}

export function sums(totals: readonly Totals[]): { count: number; sum: number }[] {
  return totals.map(({ count, sum }) => ({ count, sum }));
}
