import { anEvent } from '@agentlens/testing';
import { describe, expect, it } from '@jest/globals';
import type { Totals } from '../../ports/window-store.ts';
import { NO_TOTALS, RunningTotals } from '../../windows/totals.ts';
import { customMetric as condition } from './custom-metric.ts';

const configOf = (config: object) => condition.config.parse(config);
const TOTALS = {
  count: 4,
  sum: 10,
  min: 1,
  max: 4,
  last: { atMs: 1, value: 3 },
  bins: [{ bin: 0, count: 4 }],
};
const measured = (config: object, totals: Totals) =>
  condition.ready(configOf(config)).measure([new RunningTotals(totals)]);

describe('custom_metric', () => {
  it('defaults to more than 0 within an hour', () => {
    expect(configOf({ metricName: 'event_count' })).toMatchObject({ operator: 'gt', value: 0, windowMinutes: 60 });
  });

  it.each([
    ['last', 3],
    ['sum', 10],
    ['avg', 2.5],
    ['min', 1],
    ['max', 4],
    ['count', 4],
    ['p95', 0],
  ])('measures %s', (aggregate, value) => {
    expect(measured({ metricKeyPath: 'x', aggregate }, TOTALS)).toBe(value);
  });

  it.each(['last', 'avg', 'min', 'max', 'p95'])('has no %s over an empty window', (aggregate) => {
    expect(measured({ metricKeyPath: 'x', aggregate }, NO_TOTALS)).toBeNull();
  });

  it.each([
    [{ metricName: 'event_count' }, 10],
    [{ metricName: 'total_tokens' }, 10],
    [{ metricName: 'cost_usd' }, 10],
    [{ metricName: 'latency_ms' }, 3],
    [{ metricName: 'queue.depth' }, 3],
    [{ metricKeyPath: 'event_count' }, 3],
    [{ metricName: 'event_count', metricKeyPath: 'depth' }, 3],
  ])('uses the default aggregate for %j', (config, value) => {
    expect(measured(config, TOTALS)).toBe(value);
  });

  it('measures counts on every event', () => {
    expect(condition.ready(configOf({ metricName: 'error_count' })).series(anEvent())).toHaveLength(1);
  });

  it('measures a path only on events that have a number there', () => {
    const { series } = condition.ready(configOf({ metricKeyPath: 'queue.depth' }));
    expect(series(anEvent({ metadata: { queue: { depth: 7 } } }))).toEqual([
      { metric: 'path:queue.depth', span: { kind: 'sliding', minutes: 60 }, shape: 'spread' },
    ]);
    expect(series(anEvent({ metadata: { queue: { depth: '7' } } }))).toHaveLength(1);
    expect(series(anEvent({ metadata: { queue: { depth: 'seven' } } }))).toBeNull();
  });

  it('listens only to the calls it counts', () => {
    expect(condition.listensTo(configOf({ metricName: 'tool_call_count' }))).toEqual(['tool.called', 'tool.completed']);
    expect(condition.listensTo(configOf({ metricKeyPath: 'tool_call_count' }))).toContain('custom.recorded');
  });

  it('reports the value and the comparison', () => {
    const config = configOf({ metricName: 'total_tokens', operator: 'gte', value: 5, aggregate: 'max' });
    expect(condition.message(config, 6)).toBe('total_tokens (max over 60 min) is 6, >= 5');
  });

  it.each([
    {},
    { metricKeyPath: 'a..b' },
    { metricKeyPath: '' },
    { metricName: 'event_count', operator: 'between' },
    { metricName: 'event_count', aggregate: 'median' },
    { metricName: 'event_count', windowMinutes: 1441 },
    { metricName: 'event_count', value: Number.POSITIVE_INFINITY },
  ])('rejects %j', (bad) => expect(condition.config.safeParse(bad).success).toBe(false));
});
