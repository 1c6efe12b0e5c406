import { describe, expect, it } from '@jest/globals';
import { IDLE_AFTER_MS } from '../runs/run-view.ts';
import { sessionStatus } from './session.ts';

const now = Date.parse('2026-11-21T10:00:00.000Z');
const quietFor = (ms: number) => new Date(now - ms).toISOString();

describe('session status', () => {
  it('is active while events arrive', () => {
    expect(sessionStatus({ status: 'running', last_event_at: quietFor(IDLE_AFTER_MS) }, now)).toBe('active');
  });

  it('is idle after five minutes without an event', () => {
    expect(sessionStatus({ status: 'running', last_event_at: quietFor(IDLE_AFTER_MS + 1) }, now)).toBe('idle');
  });

  it.each([
    ['succeeded', 'completed'],
    ['cancelled', 'completed'],
    ['failed', 'error'],
    ['timed_out', 'error'],
    ['interrupted', 'error'],
    ['lost', 'error'],
  ])('of a run that %s is %s', (status, word) => {
    expect(sessionStatus({ status, last_event_at: quietFor(0) }, now)).toBe(word);
  });
});
