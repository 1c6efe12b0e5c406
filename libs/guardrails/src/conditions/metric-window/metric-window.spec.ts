import { anEvent } from '@agentlens/testing';
import { describe, expect, it } from '@jest/globals';
import { aDecisionRule, answerTo, aRequest } from '../../decisions/call.testing.ts';
import { factsNeeded } from '../../decisions/facts-needed.ts';
import { NO_TOTALS } from '../../windows/totals.ts';

const sums = (...values: number[]) => ({ totals: values.map((sum) => ({ ...NO_TOTALS, count: 1, sum })) });
const BYTES = { metric: 'bytes_in', operator: 'gt', value: 100 };

describe('metric_window', () => {
  it('includes the quantity reported with this call', () => {
    const ask = (bytes: number) =>
      answerTo('metric_window', BYTES, { metrics: { bytes_in: bytes } }, { totals: [NO_TOTALS] });
    expect(ask(100)).toBe(false);
    expect(ask(101)).toBe(true);
    expect(answerTo('metric_window', BYTES, { metrics: { bytes_in: 41 } }, sums(60))).toBe(true);
  });

  it('counts the size of the arguments once although it is sent before and after the call', () => {
    const rule = aDecisionRule({ conditionType: 'metric_window', conditionConfig: BYTES });
    const metrics = { bytes_in: 7 };
    expect(factsNeeded([rule], aRequest({ metrics })).increments.map(({ value }) => value)).toEqual([7]);
    expect(factsNeeded([rule], aRequest({ metrics })).undo.map(({ value }) => value)).toEqual([-7]);
    expect(factsNeeded([rule], aRequest({ metrics, phase: 'tool.after' })).increments).toEqual([]);
  });

  it('takes the larger of the tokens reported by calls and by events, never the sum', () => {
    const config = { metric: 'llm_tokens_in', operator: 'gte', value: 100 };
    expect(answerTo('metric_window', config, {}, sums(60, 60))).toBe(false);
    expect(answerTo('metric_window', config, {}, sums(100, 0))).toBe(true);
    expect(answerTo('metric_window', config, {}, sums(0, 100))).toBe(true);
  });

  it('is fed by events that report the metric', () => {
    const rule = aDecisionRule({
      conditionType: 'metric_window',
      conditionConfig: { metric: 'llm_tokens_in', value: 1 },
    });
    const series = (usage: object) => rule.feeds[0]?.series(anEvent({ runId: 'run-1', usage }));
    expect(series({ inputTokens: 5 })).toEqual([
      { metric: 'input_tokens', span: { kind: 'run', runId: 'run-1' }, shape: 'sum' },
    ]);
    expect(series({})).toBeNull();
  });

  it.each([
    ['avg', 20],
    ['max', 30],
    ['min', 10],
    ['count', 2],
  ])('knows the %s', (aggregate, value) => {
    const totals = [{ ...NO_TOTALS, count: 2, sum: 40, min: 10, max: 30 }];
    expect(answerTo('metric_window', { metric: 'x', aggregate, operator: 'eq', value }, {}, { totals })).toBe(true);
  });

  it('is missing if nothing was reported, unless onMissing is set', () => {
    expect(answerTo('metric_window', BYTES, {}, { totals: [NO_TOTALS] })).toBe('missing');
    expect(answerTo('metric_window', { ...BYTES, onMissing: 'block' }, {}, { totals: [NO_TOTALS] })).toBe(true);
    const perUser = { ...BYTES, scope: 'agent_user', windowMinutes: 5 };
    expect(answerTo('metric_window', perUser, {})).toBe('missing');
  });

  it('is unavailable without the series', () => {
    expect(answerTo('metric_window', BYTES, {}, { totals: 'deadline' })).toBe('unavailable');
  });

  it.each([
    [{ metric: '9x', value: 1 }, 'must be a letter'],
    [{ metric: 'x', value: 1, scope: 'agent' }, 'is required for agent'],
    [{ metric: 'x', value: 1, windowMinutes: 5 }, 'a run is measured whole'],
    [{ metric: 'cost_usd', value: 1, scope: 'agent_user', windowMinutes: 5 }, 'on whose behalf'],
  ])('rejects %j: %s', (config, message) => expect(() => answerTo('metric_window', config, {})).toThrow(message));
});
