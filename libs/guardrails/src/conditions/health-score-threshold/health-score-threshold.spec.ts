import { describe, expect, it } from '@jest/globals';
import { healthScoreThreshold as condition } from './health-score-threshold.ts';

const config = condition.config.parse({});

describe('health_score_threshold', () => {
  it('defaults to 50 over 7 days', () => expect(config).toEqual({ minScore: 50, windowDays: 7 }));

  it('fires below the minimum score, not at it', () => {
    expect(condition.threshold(config)).toEqual({ operator: 'lt', value: 50 });
  });

  it('never fires without data', () => expect(condition.measure(config, null)).toBeNull());

  it('reports the score', () => {
    expect(condition.message(config, 41.26)).toBe('Health score 41.3 is below minimum 50');
  });

  it.each([{ minScore: 101 }, { minScore: -1 }, { windowDays: 0 }, { windowDays: 91 }, { windowDays: 1.5 }])(
    'rejects %j',
    (bad) => expect(condition.config.safeParse(bad).success).toBe(false),
  );
});
