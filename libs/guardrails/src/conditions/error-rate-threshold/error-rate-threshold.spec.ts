import { describe, expect, it } from '@jest/globals';
import { RunningTotals } from '../../windows/series-totals.ts';
import { NO_TOTALS } from '../../windows/totals.ts';
import { errorRateThreshold as condition } from './error-rate-threshold.ts';

const config = condition.config.parse({});
const rate = (events: number, errors: number, over = config) =>
  condition.ready(over).measure([new RunningTotals({ ...NO_TOTALS, count: events, sum: errors })]);

describe('error_rate_threshold', () => {
  it('defaults to 30 % of 5 minutes', () => {
    expect(config).toEqual({ threshold: 30, windowMinutes: 5, minEvents: 1 });
  });

  it('measures errors among events in percent', () => {
    expect(rate(8, 1)).toBe(12.5);
    expect(rate(3, 3)).toBe(100);
    expect(rate(5, 0)).toBe(0);
  });

  it('never fires on an empty window', () => expect(rate(0, 0)).toBeNull());

  it('waits for the least number of events', () => {
    const patient = condition.config.parse({ minEvents: 10 });
    expect(rate(9, 9, patient)).toBeNull();
    expect(rate(10, 10, patient)).toBe(100);
  });

  it('fires at the threshold', () => {
    expect(condition.threshold(config)).toEqual({ operator: 'gte', value: 30 });
  });

  it('says what was measured', () => {
    expect(condition.message({ ...config, threshold: 20 }, 25)).toBe('Error rate 25.0% exceeds threshold 20%');
  });

  it.each([{ threshold: 101 }, { threshold: -1 }, { windowMinutes: 0 }, { windowMinutes: 1441 }, { minEvents: 0 }])(
    'refuses %j',
    (bad) => expect(condition.config.safeParse(bad).success).toBe(false),
  );
});
