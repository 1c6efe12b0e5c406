import { describe, expect, it } from '@jest/globals';
import { type Check, equal, withinMs } from './check.ts';
import { type FaultFinding, mayBeTheMachine } from './fault.ts';

const failed = (checks: readonly Check[], reason?: string): FaultFinding => ({
  id: 'F-00',
  title: 'a fault',
  seed: 1,
  outcome: 'failed',
  startedAt: '2026-03-01T12:00:00.000Z',
  seconds: 1,
  timeline: [],
  checks,
  measures: {},
  ...(reason === undefined ? {} : { reason }),
});

describe('a failed fault test', () => {
  it('may be caused by the machine if something was late or aborted', () => {
    expect(mayBeTheMachine(failed([withinMs('drain', 5_000, 6_000, 1)]))).toBe(true);
    expect(mayBeTheMachine(failed([], 'waited 60 s in vain'))).toBe(true);
  });

  it('is caused by the platform if a count is wrong and nothing was late', () => {
    expect(mayBeTheMachine(failed([withinMs('drain', 5_000, 100, 1), equal('rows stored twice', 0, 1)]))).toBe(false);
  });
});
