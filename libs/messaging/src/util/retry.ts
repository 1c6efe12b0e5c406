import { setTimeout as pause } from 'node:timers/promises';

/** When to retry, and for how long. */
export interface RetryPolicy {
  /** Whether the error may go away by itself, for example because a server is still starting. */
  readonly isTransient: (error: unknown) => boolean;
  /** No retry starts later than this after the first attempt, ms. */
  readonly forMs: number;
  /** Pause between two attempts. Default 250 ms. */
  readonly pauseMs?: number;
  /** Called for the first failure only, so that a long wait logs one line. */
  readonly onFirstFailure?: (error: unknown) => void;
}

/**
 * Runs `work` until it succeeds.
 * @throws the last error of `work`, if it is not transient or `forMs` has passed
 */
export async function retry<T>(policy: RetryPolicy, work: () => Promise<T>): Promise<T> {
  const { isTransient, forMs, pauseMs = 250, onFirstFailure } = policy;
  const deadline = performance.now() + forMs;
  for (let failed = false; ; failed = true) {
    try {
      return await work();
    } catch (error) {
      if (!isTransient(error) || performance.now() >= deadline) throw error;
      if (!failed) onFirstFailure?.(error);
    }
    await pause(pauseMs);
  }
}

/**
 * Delay before redelivery after the 1st, 2nd, … failed delivery, ms; the last value repeats. Both adapters use it, because
 * the broker redelivers immediately and would use up every retry during a short outage.
 */
export const BACK_OFF_MS: readonly number[] = [250, 500, 1_000, 2_000, 5_000, 10_000, 30_000];

/**
 * Delay before the next attempt, ms.
 * @param attempt 1 for the first delivery
 */
export function backOff(attempt: number, schedule: readonly number[] = BACK_OFF_MS): number {
  return schedule[Math.min(Math.max(attempt, 1), schedule.length) - 1] ?? 0;
}
