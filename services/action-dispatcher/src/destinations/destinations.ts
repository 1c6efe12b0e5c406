import { createHash } from 'node:crypto';

/** An address that actions of one tenant call. Breaker, fair share and the disabled flag are per destination. */
export interface Destination {
  readonly tenantId: string;
  /** SHA-256 of the full address, because paths and queries of webhooks are often secrets. */
  readonly id: string;
}

/** A destination id and a label that may be shown. */
export interface Address {
  readonly id: string;
  readonly label: string;
}

/** Null if the text is not an address. */
export function destinationOf(text: unknown): Address | null {
  const url = typeof text === 'string' ? URL.parse(text) : null;
  if (url === null) return null;
  return { id: createHash('sha256').update(url.href).digest('hex'), label: url.origin };
}

const MAX_REMEMBERED = 10_000;

/** Keeps a value for up to ten thousand destinations; evicts the one that was set longest ago. */
export class ByDestination<V> {
  readonly #kept = new Map<string, V>();

  get(destination: Destination): V | undefined {
    return this.#kept.get(destinationKey(destination));
  }

  set(destination: Destination, value: V): void {
    this.delete(destination);
    this.#kept.set(destinationKey(destination), value);
    if (this.#kept.size <= MAX_REMEMBERED) return;
    for (const oldest of this.#kept.keys()) {
      this.#kept.delete(oldest);
      return;
    }
  }

  delete(destination: Destination): void {
    this.#kept.delete(destinationKey(destination));
  }

  values(): Iterable<V> {
    return this.#kept.values();
  }
}

export function destinationKey({ tenantId, id }: Destination): string {
  return `${tenantId}:${id}`;
}

/**
 * State of a destination's circuit breaker. `closed` counts consecutive failures, `open` waits, `half_open` has sent
 * one probe. `trips` lengthens the wait with each failed probe.
 */
export type DestinationBreaker =
  | { readonly state: 'closed'; readonly failures: number }
  | { readonly state: 'open'; readonly retryAtMs: number; readonly trips: number }
  | { readonly state: 'half_open'; readonly probeEndsMs: number; readonly trips: number };

type DestinationAdmission = { readonly admitted: true } | { readonly admitted: false; readonly retryAtMs: number };

export const CLOSED: DestinationBreaker = { state: 'closed', failures: 0 };

/** Consecutive failures that open a closed breaker. */
export const FAILURES_TO_OPEN = 5;
const FIRST_WAIT_MS = 30_000;
const LONGEST_WAIT_MS = 600_000;
/** A probe whose result never arrives, because its process died, blocks others for this long. */
export const PROBE_MS = 30_000;
/** Pause before asking again while another probe is running. */
const PROBE_CHECK_MS = 5_000;

/** Decides whether a call may go out, and returns the next state. */
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

/** `down` means that the destination is unavailable; any response proves that it is up. */
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
      return breaker; // the call started before the breaker opened
  }
}

function open(trips: number, nowMs: number): DestinationBreaker {
  const waitMs = Math.min(FIRST_WAIT_MS * 2 ** Math.min(trips - 1, 10), LONGEST_WAIT_MS);
  return { state: 'open', retryAtMs: nowMs + waitMs, trips };
}

/**
 * Circuit breakers of all destinations, kept in memory: a new replica learns within a few calls, and no shared state
 * can be wrong for all of them.
 */
export class DestinationBreakers {
  /** Healthy destinations are not stored; evicting one costs a probe. */
  readonly #breakers = new ByDestination<DestinationBreaker>();

  admit(destination: Destination, nowMs: number): DestinationAdmission {
    const answer = admit(this.#of(destination), nowMs);
    this.#keep(destination, answer.breaker);
    return answer.admission;
  }

  learn(destination: Destination, health: 'up' | 'down', nowMs: number): void {
    this.#keep(destination, learn(this.#of(destination), health, nowMs));
  }

  /** Closes the breaker of a destination. */
  reset(destination: Destination): void {
    this.#breakers.delete(destination);
  }

  get unwell(): number {
    let count = 0;
    for (const breaker of this.#breakers.values()) if (breaker.state !== 'closed') count += 1;
    return count;
  }

  #of(destination: Destination): DestinationBreaker {
    return this.#breakers.get(destination) ?? CLOSED;
  }

  #keep(destination: Destination, breaker: DestinationBreaker): void {
    if (breaker.state === 'closed' && breaker.failures === 0) this.#breakers.delete(destination);
    else this.#breakers.set(destination, breaker);
  }
}

/** Responses within this time count as fast. */
const QUICK_MS = 500;
/** Consecutive fast responses that earn a destination one more share. */
const ROW = 16;
const MOST = 4;

/**
 * Share multiples of destinations. A receiver that responds fast earns more slots step by step; the first failure or
 * slow response resets it.
 */
export class Paces {
  readonly #rows = new ByDestination<number>();

  /** 1 to 4. */
  readonly of = (destination: Destination): number => {
    return Math.min(MOST, 1 + Math.floor((this.#rows.get(destination) ?? 0) / ROW));
  };

  learn(destination: Destination, accepted: boolean, durationMs: number): void {
    const row = this.#rows.get(destination) ?? 0;
    if (accepted && durationMs < QUICK_MS) this.#rows.set(destination, Math.min(row + 1, ROW * MOST));
    else this.#rows.delete(destination);
  }
}
