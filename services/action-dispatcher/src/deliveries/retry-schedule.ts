import type { ActionModule } from '@agentlens/guardrails';

export type Urgency = ActionModule['urgency'] | 'page' | 'end';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

interface Schedule {
  /** Pause after each failed attempt. There is one more attempt than pauses. */
  readonly pausesMs: readonly number[];
  /** Upper bound for `Retry-After`. */
  readonly longestWaitMs: number;
  /** A delivery that could not be attempted for this long, because the breaker was open, is given up. */
  readonly staleAfterMs: number;
}

const PAGE_PAUSES_MS = [1, 2, 5, 10, 30, 60, 120, 90, 300, 600].map((seconds) => seconds * SECOND);
/** Attempts of a page. A message that waits behind one for the same key waits no longer. */
export const PAGE_ATTEMPTS = PAGE_PAUSES_MS.length + 1;
const END_EVERY_MS = 10 * MINUTE;
const END_WITHIN_MS = 24 * HOUR;

/**
 * Control actions stop an agent that misbehaves: they succeed within seconds or the operator learns that they failed.
 * Notifications follow Standard Webhooks 1.0: eight attempts in 27.6 hours. Pages reach a person within minutes; one
 * attempt falls just after five minutes, the usual delay of a mail server that greylists. What ends a page is tried for a
 * day: without it, an incident stays open.
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
  page: {
    pausesMs: PAGE_PAUSES_MS,
    longestWaitMs: 10 * MINUTE,
    staleAfterMs: 1 * HOUR,
  },
  end: {
    pausesMs: [...PAGE_PAUSES_MS, ...Array.from({ length: END_WITHIN_MS / END_EVERY_MS }, () => END_EVERY_MS)],
    longestWaitMs: 10 * MINUTE,
    staleAfterMs: END_WITHIN_MS,
  },
};

/** Jitter: pauses grow by up to this share, which spreads retries of receivers that failed together. */
const JITTER = 0.2;

/**
 * Pause between attempt `attempt` (1 is the first) and the next, ms; null after the last. `Retry-After` can lengthen
 * the pause up to the limit of the schedule, never shorten it.
 *
 * @param random uniform in [0, 1)
 */
export function pauseAfter(urgency: Urgency, attempt: number, random: number, retryAfterMs = 0): number | null {
  const { pausesMs, longestWaitMs } = SCHEDULES[urgency];
  const pause = pausesMs[attempt - 1];
  if (pause === undefined) return null;
  return Math.max(Math.round(pause * (1 + JITTER * random)), Math.min(retryAfterMs, longestWaitMs));
}

/** True if a delivery has waited for its destination for too long to be carried out. */
export function isStale(urgency: Urgency, createdAtMs: number, nowMs: number): boolean {
  return nowMs - createdAtMs > SCHEDULES[urgency].staleAfterMs;
}
