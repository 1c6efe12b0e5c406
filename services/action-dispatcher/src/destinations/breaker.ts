/**
 * Whether a destination may be called. `closed` counts failures in a row; `open` waits; `half_open` has let one probe
 * through and waits for its result. `trips` lengthens the wait each time a probe fails.
 */
export type DestinationBreaker =
  | { readonly state: 'closed'; readonly failures: number }
  | { readonly state: 'open'; readonly retryAtMs: number; readonly trips: number }
  | { readonly state: 'half_open'; readonly probeEndsMs: number; readonly trips: number };

export type DestinationAdmission =
  | { readonly admitted: true }
  | { readonly admitted: false; readonly retryAtMs: number };

export const CLOSED: DestinationBreaker = { state: 'closed', failures: 0 };

/** Failures in a row that open a closed breaker. */
export const FAILURES_TO_OPEN = 5;
const FIRST_WAIT_MS = 30_000;
const LONGEST_WAIT_MS = 600_000;
/** A probe whose result never came (its process died) holds the others up for this long at most. */
export const PROBE_MS = 30_000;
/** When to ask again while somebody else's probe is out. */
const PROBE_CHECK_MS = 5_000;

/** May one call go out now, and what the breaker is once it has. */
export function admit(
  breaker: DestinationBreaker,
  nowMs: number,
): { readonly breaker: DestinationBreaker; readonly admission: DestinationAdmission } {
  if (breaker.state === 'closed') return { breaker, admission: { admitted: true } };
  if (breaker.state === 'open' && nowMs < breaker.retryAtMs) return refuse(breaker, breaker.retryAtMs);
  if (breaker.state === 'half_open' && nowMs < breaker.probeEndsMs) return refuse(breaker, nowMs + PROBE_CHECK_MS);
  return {
    breaker: { state: 'half_open', probeEndsMs: nowMs + PROBE_MS, trips: breaker.trips },
    admission: { admitted: true },
  };
}

function refuse(breaker: DestinationBreaker, retryAtMs: number) {
  return { breaker, admission: { admitted: false, retryAtMs } } as const;
}

/** `down` is only what says that the destination itself is unwell; a refusal it sends proves that it is alive. */
export function learn(breaker: DestinationBreaker, health: 'up' | 'down', nowMs: number): DestinationBreaker {
  if (health === 'up') return CLOSED;
  switch (breaker.state) {
    case 'closed': {
      const failures = breaker.failures + 1;
      return failures < FAILURES_TO_OPEN ? { state: 'closed', failures } : open(1, nowMs);
    }
    case 'half_open':
      return open(breaker.trips + 1, nowMs);
    case 'open':
      return breaker; // a call that was already under way when it opened: nothing new
  }
}

function open(trips: number, nowMs: number): DestinationBreaker {
  const waitMs = Math.min(FIRST_WAIT_MS * 2 ** Math.min(trips - 1, 10), LONGEST_WAIT_MS);
  return { state: 'open', retryAtMs: nowMs + waitMs, trips };
}
