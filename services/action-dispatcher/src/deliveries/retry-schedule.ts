import type { ActionModule } from '@agentlens/guardrails';

export type Urgency = ActionModule['urgency'];

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

interface Schedule {
  /** Pause after the first, second, ... failed attempt; one more attempt than there are pauses. */
  readonly pausesMs: readonly number[];
  /** The longest patience a receiver may ask for with `Retry-After`. */
  readonly longestWaitMs: number;
  /** A delivery that could not even be tried for this long (its destination's breaker is open) is given up. */
  readonly staleAfterMs: number;
}

/**
 * Control acts on an agent that misbehaves now: it works within seconds or the operator is told that it failed.
 * Notifications follow Standard Webhooks 1.0: eight attempts over 27.6 hours.
 */
const SCHEDULES: Readonly<Record<Urgency, Schedule>> = {
  control: {
    pausesMs: [1 * SECOND, 2 * SECOND, 5 * SECOND, 10 * SECOND, 20 * SECOND],
    longestWaitMs: 30 * SECOND,
    staleAfterMs: 2 * MINUTE,
  },
  notification: {
    pausesMs: [5 * SECOND, 5 * MINUTE, 30 * MINUTE, 2 * HOUR, 5 * HOUR, 10 * HOUR, 10 * HOUR],
    longestWaitMs: 24 * HOUR,
    staleAfterMs: 72 * HOUR,
  },
};

/** Pauses grow by up to this share, so that receivers that failed together are not all tried again together. */
const JITTER = 0.2;

/**
 * Milliseconds from the end of attempt number `attempt` (1 is the first) to the next, or null where that was the last.
 * A receiver's `Retry-After` lengthens the pause, never shortens it, and counts only up to the schedule's limit.
 *
 * @param random uniform in [0, 1)
 */
export function pauseAfter(urgency: Urgency, attempt: number, random: number, retryAfterMs = 0): number | null {
  const { pausesMs, longestWaitMs } = SCHEDULES[urgency];
  const pause = pausesMs[attempt - 1];
  if (pause === undefined) return null;
  return Math.max(Math.round(pause * (1 + JITTER * random)), Math.min(retryAfterMs, longestWaitMs));
}

/** True where a delivery waited for its destination for so long that carrying it out would be wrong. */
export function isStale(urgency: Urgency, createdAtMs: number, nowMs: number): boolean {
  return nowMs - createdAtMs > SCHEDULES[urgency].staleAfterMs;
}
