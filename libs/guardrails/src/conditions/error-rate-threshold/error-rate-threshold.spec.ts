import type { AgentEvent } from '@agentlens/contracts';
import { anEvent } from '@agentlens/testing';
import { describe, expect, it } from '@jest/globals';
import { quantityOf } from '../../windows/metrics.ts';
import { NO_TOTALS, RunningTotals } from '../../windows/totals.ts';
import { errorRateThreshold as condition } from './error-rate-threshold.ts';

const config = condition.config.parse({});
const rate = (events: number, errors: number, over = config) =>
  condition.ready(over).measure([new RunningTotals({ ...NO_TOTALS, count: events, sum: errors })]);

describe('error_rate_threshold', () => {
  it('defaults to 30 % over 5 minutes', () => {
    expect(config).toEqual({ threshold: 30, windowMinutes: 5, of: 'events', minEvents: 1 });
  });

  it('measures the percentage of events that are errors', () => {
    expect(rate(8, 1)).toBe(12.5);
    expect(rate(3, 3)).toBe(100);
    expect(rate(5, 0)).toBe(0);
  });

  it('never fires on an empty window', () => expect(rate(0, 0)).toBeNull());

  it('waits for the minimum number of events', () => {
    const patient = condition.config.parse({ minEvents: 10 });
    expect(rate(9, 9, patient)).toBeNull();
    expect(rate(10, 10, patient)).toBe(100);
  });

  it('fires at the threshold', () => {
    expect(condition.threshold(config)).toEqual({ operator: 'gte', value: 30 });
  });

  it('reports the measured rate', () => {
    expect(condition.message({ ...config, threshold: 20 }, 25)).toBe('Error rate 25.0% exceeds threshold 20%');
  });

  describe('of calls', () => {
    const ofCalls = condition.config.parse({ of: 'calls', minEvents: 2 });
    const { series, measure } = condition.ready(ofCalls);

    /** Returns the rate after these events, with each added to the series the rule reads. */
    const after = (...events: AgentEvent[]) => {
      const totals =
        condition
          .ready(ofCalls)
          .series(anEvent())
          ?.map(() => new RunningTotals(NO_TOTALS)) ?? [];
      for (const event of events) {
        expect(condition.listensTo(ofCalls)).toContain(event.kind);
        series(event)?.forEach(({ metric, shape }, at) => {
          const value = quantityOf(metric, event);
          if (value !== null) totals[at]?.add(shape, 0, value);
        });
      }
      return measure(totals);
    };
    const tool = (isError: boolean) => anEvent({ kind: 'tool.completed', isError });
    const model = (isError: boolean) => anEvent({ kind: 'llm.completed', isError });
    const raised = anEvent({ kind: 'error.raised', isError: true });
    const failedRun = anEvent({ kind: 'run.ended', outcome: 'failed' });
    const failedRoot = anEvent({ kind: 'run.ended', outcome: 'failed', dialect: 'otlp', isError: true });

    it('measures failures among tool and model calls', () => {
      expect(after(tool(true), tool(false), model(false), model(true))).toBe(50);
      expect(after(tool(true), tool(true))).toBe(100);
    });

    it('waits for the minimum number of calls', () => expect(after(tool(true))).toBeNull());

    it.each([
      ['an error event', raised],
      ['a failed run', failedRun],
      ['a failed root span', failedRoot],
    ])('counts %s without a failed call as a failed call', (_, event) => {
      expect(after(event, event)).toBe(100);
      expect(after(model(false), event)).toBe(50);
    });

    it('counts a failed call, its error and its failed run once, in any order', () => {
      expect(after(tool(true), raised, failedRun, tool(false))).toBe(50);
      expect(after(failedRun, raised, tool(false), tool(true))).toBe(50);
      expect(after(tool(true), raised, raised, tool(false))).toBe(66.66666666666667);
    });

    it('ignores successful runs and agents that failed inside a root span', () => {
      const inside = anEvent({ kind: 'run.ended', outcome: 'failed', dialect: 'otlp' });
      expect(after(model(false), anEvent({ kind: 'run.ended', outcome: 'succeeded' }), inside)).toBeNull();
    });
  });

  it.each([
    ['tools', 'tool.completed', 'llm.completed'],
    ['models', 'llm.completed', 'tool.completed'],
  ] as const)('with of %s counts only %s events', (of, counted, other) => {
    const over = condition.config.parse({ of });
    const [metric = ''] =
      condition
        .ready(over)
        .series(anEvent())
        ?.map((one) => one.metric) ?? [];
    expect(condition.listensTo(over)).toEqual([counted]);
    expect(quantityOf(metric, anEvent({ kind: counted, isError: true }))).toBe(1);
    expect(quantityOf(metric, anEvent({ kind: counted }))).toBe(0);
    expect(quantityOf(metric, anEvent({ kind: other, isError: true }))).toBeNull();
  });

  it.each([
    { threshold: 101 },
    { threshold: -1 },
    { windowMinutes: 0 },
    { windowMinutes: 1441 },
    { minEvents: 0 },
    { of: 'steps' },
  ])('rejects %j', (bad) => expect(condition.config.safeParse(bad).success).toBe(false));
});
