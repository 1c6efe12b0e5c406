import { describe, expect, it } from '@jest/globals';
import { guardOf, type RuleFigures, ratesOf, unmetGuard } from './promotion.ts';

const SINCE = Date.parse('2026-03-01T00:00:00.000Z');
const figures = (fields: Partial<RuleFigures> = {}): RuleFigures => ({
  ...{ asked: 0, enforced: 0, stopped: 0, wouldStop: 0, bypassed: 0, judged: 0, harmless: 0, sinceMs: SINCE },
  ...fields,
});
const after = (hours: number) => SINCE + hours * 3_600_000;

describe('the rates of a rule', () => {
  it('are shares of the asked calls', () => {
    const some = figures({ asked: 200, stopped: 3, wouldStop: 5, bypassed: 2, judged: 4, harmless: 1 });
    expect(ratesOf(some)).toEqual({ stopRate: 0.04, bypassRate: 0.01, falseRejectionRate: 0.01 });
  });

  it('are 0 for a rule that was not asked, and unknown while no stop is judged', () => {
    expect(ratesOf(figures())).toEqual({ stopRate: 0, bypassRate: 0, falseRejectionRate: 0 });
    expect(ratesOf(figures({ asked: 2, wouldStop: 1 })).falseRejectionRate).toBeNull();
  });
});

describe('a guard', () => {
  it('requires by default 200 asked calls in 24 hours, with 2 % stops and 1 % bypasses', () => {
    expect(unmetGuard(guardOf({}, true), figures({ asked: 10, wouldStop: 1, bypassed: 1 }), after(6.2))).toEqual([
      { path: 'guard.minAsked', message: 'requires 200 asked calls, has 10' },
      { path: 'guard.minHours', message: 'requires 24 hours, has 6.2' },
      { path: 'guard.maxStopRate', message: 'allows 2 % of the calls, has 10 %' },
      { path: 'guard.maxBypassRate', message: 'allows 1 % of the calls, has 10 %' },
    ]);
    expect(unmetGuard({ minHours: 24 }, figures({}), after(0.0731))).toEqual([
      { path: 'guard.minHours', message: 'requires 24 hours, has 4 minutes' },
    ]);
    expect(unmetGuard(guardOf({}, true), figures({ asked: 200, wouldStop: 4, bypassed: 2 }), after(24))).toEqual([]);
  });

  it('with a bound on false rejections is not met while no stop is judged', () => {
    const guard = { maxFalseRejectionRate: 0.1 };
    const stops = figures({ asked: 10, wouldStop: 5 });
    expect(unmetGuard(guard, stops, after(0))).toMatchObject([{ message: expect.stringContaining('no judged call') }]);
    expect(unmetGuard(guard, { ...stops, judged: 5, harmless: 1 }, after(0))).toEqual([]);
    expect(unmetGuard(guard, { ...stops, judged: 5, harmless: 2 }, after(0))).toMatchObject([
      { path: 'guard.maxFalseRejectionRate', message: 'allows 10 % of the calls, has 20 %' },
    ]);
  });

  it('of a rule on events only requires time, because such a rule is not asked', () => {
    expect(guardOf({}, false)).toEqual({ minHours: 24 });
    expect(guardOf({ guard: { minAsked: 5 } }, false)).toEqual({});
  });
});
