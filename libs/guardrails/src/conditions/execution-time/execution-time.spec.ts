import { describe, expect, it } from '@jest/globals';
import { answerTo, aPastCall } from '../../decisions/call.testing.ts';

const took = (ms: number) => ({ phase: 'tool.after' as const, metrics: { duration_ms: ms } });

describe('execution_time', () => {
  it('measures the call', () => {
    expect(answerTo('execution_time', { ms: 100 }, took(100))).toBe(false);
    expect(answerTo('execution_time', { ms: 100 }, took(101))).toBe(true);
  });

  it('measures the run, including this call', () => {
    const history = [aPastCall({ durationMs: 60 }), aPastCall({ callKey: 'd' })];
    expect(answerTo('execution_time', { scope: 'total', operator: 'gte', ms: 100 }, took(40), { history })).toBe(true);
    expect(answerTo('execution_time', { scope: 'total', ms: 100 }, took(40), { history })).toBe(false);
    expect(answerTo('execution_time', { scope: 'total', ms: 1 }, took(1), { history: 'deadline' })).toBe('unavailable');
  });

  it('is missing before the duration is known', () => {
    expect(answerTo('execution_time', { ms: 1 }, {})).toBe('missing');
  });
});
