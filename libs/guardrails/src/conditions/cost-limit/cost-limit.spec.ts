import { anEvent } from '@agentlens/testing';
import { describe, expect, it } from '@jest/globals';
import { NO_TOTALS, RunningTotals } from '../../windows/totals.ts';
import { costLimit as condition } from './cost-limit.ts';

describe('cost_limit', () => {
  it('defaults to 10 USD a day', () => {
    expect(condition.config.parse({})).toEqual({ maxCostUsd: 10, scope: 'daily' });
  });

  it('sums over the session of the event', () => {
    const config = condition.config.parse({ scope: 'session' });
    expect(condition.ready(config).series(anEvent({ runId: 's-1' }))).toEqual([
      { metric: 'cost_usd', span: { kind: 'run', runId: 's-1' }, shape: 'sum' },
    ]);
  });

  it('sums over the UTC day in which the event occurred', () => {
    const late = anEvent({ occurredAt: '2026-02-28T23:59:59.999Z' });
    expect(condition.ready(condition.config.parse({})).series(late)?.[0]?.span).toEqual({
      kind: 'day',
      day: '2026-02-28',
    });
  });

  it('follows alternating runs and days', () => {
    const [ofRuns, ofDays] = [{ scope: 'session' }, {}].map((config) =>
      condition.ready(condition.config.parse(config)),
    );
    const spans = (measure: typeof ofRuns) =>
      ['1', '2', '1'].map(
        (n) => measure?.series(anEvent({ runId: n, occurredAt: `2026-03-0${n}T00:00:00.000Z` }))?.[0]?.span,
      );
    expect(spans(ofRuns)).toEqual(['1', '2', '1'].map((runId) => ({ kind: 'run', runId })));
    expect(spans(ofDays)).toEqual(['1', '2', '1'].map((n) => ({ kind: 'day', day: `2026-03-0${n}` })));
  });

  it('measures the sum, and zero if nothing was spent', () => {
    const config = condition.config.parse({});
    expect(condition.ready(config).measure([new RunningTotals({ ...NO_TOTALS, count: 2, sum: 10 })])).toBe(10);
    expect(condition.ready(config).measure([new RunningTotals(NO_TOTALS)])).toBe(0);
    expect(condition.threshold(config)).toEqual({ operator: 'gte', value: 10 });
  });

  it('reports the cost and the limit', () => {
    expect(condition.message({ maxCostUsd: 5, scope: 'session' }, 5.25)).toBe('Session cost $5.2500 exceeds limit $5');
  });

  it.each([{ maxCostUsd: -0.01 }, { maxCostUsd: Number.POSITIVE_INFINITY }, { scope: 'weekly' }])('rejects %j', (bad) =>
    expect(condition.config.safeParse(bad).success).toBe(false),
  );
});
