import { anEvent } from '@agentlens/testing';
import { describe, expect, it } from '@jest/globals';
import { NO_TOTALS } from '../../windows/totals.ts';
import { costLimit as condition } from './cost-limit.ts';

describe('cost_limit', () => {
  it('defaults to 10 USD a day', () => {
    expect(condition.config.parse({})).toEqual({ maxCostUsd: 10, scope: 'daily' });
  });

  it('counts over the session of the event', () => {
    const config = condition.config.parse({ scope: 'session' });
    expect(condition.series(config, anEvent({ runId: 's-1' }))).toEqual([
      { metric: 'cost_usd', span: { kind: 'run', runId: 's-1' }, shape: 'sum' },
    ]);
  });

  it('counts over the UTC day in which the event occurred', () => {
    const late = anEvent({ occurredAt: '2026-02-28T23:59:59.999Z' });
    expect(condition.series(condition.config.parse({}), late)?.[0]?.span).toEqual({ kind: 'day', day: '2026-02-28' });
  });

  it('measures the sum, and zero where nothing was spent', () => {
    const config = condition.config.parse({});
    expect(condition.measure(config, [{ ...NO_TOTALS, count: 2, sum: 10 }])).toBe(10);
    expect(condition.measure(config, [NO_TOTALS])).toBe(0);
    expect(condition.threshold(config)).toEqual({ operator: 'gte', value: 10 });
  });

  it('says what was spent', () => {
    expect(condition.message({ maxCostUsd: 5, scope: 'session' }, 5.25)).toBe('Session cost $5.2500 exceeds limit $5');
  });

  it.each([{ maxCostUsd: -0.01 }, { maxCostUsd: Number.POSITIVE_INFINITY }, { scope: 'weekly' }])('refuses %j', (bad) =>
    expect(condition.config.safeParse(bad).success).toBe(false),
  );
});
