import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { isStale, PAGE_ATTEMPTS, pauseAfter, type Urgency } from './retry-schedule.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

function pauses(urgency: Urgency): number[] {
  const found: number[] = [];
  for (let attempt = 1; ; attempt++) {
    const pause = pauseAfter(urgency, attempt, 0);
    if (pause === null) return found;
    found.push(pause);
  }
}

describe('retry schedule', () => {
  it('follows Standard Webhooks for notifications: eight attempts', () => {
    expect(pauses('notification')).toEqual([
      5 * SECOND,
      5 * MINUTE,
      30 * MINUTE,
      2 * HOUR,
      5 * HOUR,
      10 * HOUR,
      10 * HOUR,
    ]);
  });

  it('finishes all attempts of a control action within a minute', () => {
    const all = pauses('control');
    expect(all.length).toBeGreaterThanOrEqual(3);
    expect(all.reduce((sum, pause) => sum + pause, 0)).toBeLessThan(MINUTE);
  });

  it('tries the end of a page for a day, and never rests longer than a page does', () => {
    const all = pauses('end');
    expect(all.slice(0, PAGE_ATTEMPTS - 1)).toEqual(pauses('page'));
    expect(all.reduce((sum, pause) => sum + pause, 0)).toBeGreaterThanOrEqual(24 * HOUR);
    expect(Math.max(...all)).toBe(Math.max(...pauses('page')));
  });

  it('honors Retry-After up to a limit', () => {
    expect(pauseAfter('notification', 1, 0, 2 * MINUTE)).toBe(2 * MINUTE);
    expect(pauseAfter('notification', 1, 0, 1_000 * HOUR)).toBe(24 * HOUR);
    expect(pauseAfter('control', 1, 0, HOUR)).toBe(30 * SECOND);
  });

  it('is not shortened by Retry-After', () => {
    expect(pauseAfter('notification', 2, 0, 1)).toBe(5 * MINUTE);
  });

  it('is not extended by Retry-After after the last attempt', () => {
    expect(pauseAfter('notification', 8, 0, HOUR)).toBeNull();
  });

  it('has a jitter of at most a fifth and never retries early', () => {
    fc.assert(
      fc.property(
        fc.constantFrom<Urgency>('control', 'notification'),
        fc.integer({ min: 1, max: 7 }),
        fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
        (urgency, attempt, random) => {
          const plain = pauseAfter(urgency, attempt, 0);
          const spread = pauseAfter(urgency, attempt, random);
          if (plain === null || spread === null) return plain === spread;
          return spread >= plain && spread <= Math.ceil(plain * 1.2);
        },
      ),
    );
  });

  it('gives up on an unavailable destination: soon for control, late for notifications', () => {
    expect(isStale('control', 0, MINUTE)).toBe(false);
    expect(isStale('control', 0, 3 * MINUTE)).toBe(true);
    expect(isStale('notification', 0, 71 * HOUR)).toBe(false);
    expect(isStale('notification', 0, 73 * HOUR)).toBe(true);
  });
});
