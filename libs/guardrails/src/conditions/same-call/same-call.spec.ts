import { anEvent } from '@agentlens/testing';
import { describe, expect, it } from '@jest/globals';
import { NO_TOTALS, RunningTotals } from '../../windows/totals.ts';
import { sameCall as condition } from './same-call.ts';

const { series, measure } = condition.ready({ times: 3 });
const call = (fields: object = {}) =>
  anEvent({ kind: 'tool.called', toolName: 'search', payload: { arguments: { q: 'x', page: 1 } }, ...fields });
const metricOf = (fields: object) => series(call(fields))?.[0]?.metric;

describe('same_call', () => {
  it('defaults to three times', () => {
    expect(condition.config.parse({})).toEqual({ times: 3 });
    expect(condition.config.safeParse({ times: 1 }).success).toBe(false);
  });

  it('counts within one run', () => {
    expect(series(call({ runId: 'r1' }))).toEqual([
      { metric: expect.stringMatching(/^call:[0-9a-f]{24}$/), span: { kind: 'run', runId: 'r1' }, shape: 'sum' },
    ]);
  });

  it('identifies a call by its tool and arguments, regardless of key order', () => {
    expect(metricOf({ payload: { arguments: { page: 1, q: 'x' } } })).toBe(metricOf({}));
    expect(metricOf({ payload: { arguments: { page: 2, q: 'x' } } })).not.toBe(metricOf({}));
    expect(metricOf({ toolName: 'fetch' })).not.toBe(metricOf({}));
  });

  it.each(['otlp', 'handlebar'])('counts a call of %s when it completes', (dialect) => {
    expect(series(call({ dialect }))).toBeNull();
    expect(metricOf({ dialect, kind: 'tool.completed' })).toBe(metricOf({}));
  });

  it.each([
    ['a call without arguments', { payload: {} }],
    ['a call whose arguments are not an object', { payload: { arguments: 'x' } }],
    ['a call without a tool', { toolName: undefined }],
    ['an event that is not a tool call', { kind: 'llm.called' }],
    ['the end of a call that was counted when it began', { kind: 'tool.completed' }],
  ])('ignores %s', (_, fields) => {
    expect(series(call(fields))).toBeNull();
  });

  it('fires from the configured number of calls on', () => {
    expect(condition.threshold({ times: 3 })).toEqual({ operator: 'gte', value: 3 });
    expect(measure([new RunningTotals({ ...NO_TOTALS, count: 3, sum: 3 })])).toBe(3);
    expect(condition.message({ times: 3 }, 4)).toContain('4 times');
  });
});
