import { type Quota, type QuotaAnswer, SingleFlight } from '@agentlens/state';

/** How much of a key's rate is taken from the shared quota at once: what its clients can send in this time. */
const SLICE_SECONDS = 0.02;
/** Requests that would use a slice up within a few gain nothing from it. */
const REQUESTS_PER_SLICE = 4;
/** What a key did not use by then is let go, so that a quiet key holds nothing for long. */
const KEPT_MS = 10_000;
/** A key that is at its limit is counted exactly for this long. */
const EXACT_MS = 100;
const MOST_KEYS = 10_000;

interface Lease {
  tokens: number;
  readonly perSecond: number;
  readonly takenAtMs: number;
  /** What the shared quota said when it gave the slice. */
  readonly answer: QuotaAnswer;
}

/**
 * Takes slices of a key's quota from where all gateways share it, and serves requests from them, so that most need no
 * round trip. Every token still comes from the shared bucket once: over a second a key gets no more than its rate and
 * one slice (2 % of it) per gateway, saved from the seconds before; a key that pauses loses at most that.
 */
export class LeasedQuota implements Quota {
  readonly #leases = new Map<string, Lease>();
  /** Until when a key is counted request by request. */
  readonly #exactUntilMs = new Map<string, number>();
  /** Requests that need a slice at the same time share one. */
  readonly #leasing = new SingleFlight<void>();

  constructor(private readonly shared: Quota) {}

  async take(keyId: string, cost: number, perSecond: number, nowMs: number): Promise<QuotaAnswer> {
    const slice = Math.floor(perSecond * SLICE_SECONDS);
    if (slice < cost * REQUESTS_PER_SLICE || this.#isExact(keyId, nowMs)) {
      return this.shared.take(keyId, cost, perSecond, nowMs);
    }
    const now = this.#fromLease(keyId, cost, perSecond, nowMs);
    if (now !== undefined) return now;
    await this.#leasing.run(keyId, () => this.#lease(keyId, slice, perSecond, nowMs));
    return this.#fromLease(keyId, cost, perSecond, nowMs) ?? this.shared.take(keyId, cost, perSecond, nowMs);
  }

  #fromLease(keyId: string, cost: number, perSecond: number, nowMs: number): QuotaAnswer | undefined {
    const lease = this.#leases.get(keyId);
    if (lease === undefined || lease.tokens < cost || lease.perSecond !== perSecond) return undefined;
    const ageMs = nowMs - lease.takenAtMs;
    if (ageMs >= KEPT_MS) return undefined;
    lease.tokens -= cost;
    return { ...lease.answer, remaining: remainingOf(lease, ageMs) };
  }

  async #lease(keyId: string, slice: number, perSecond: number, nowMs: number): Promise<void> {
    const answer = await this.shared.take(keyId, slice, perSecond, nowMs);
    if (this.#leases.size >= MOST_KEYS) this.#leases.clear();
    if (answer.allowed) this.#leases.set(keyId, { tokens: slice, perSecond, takenAtMs: nowMs, answer });
    else this.#exactUntilMs.set(keyId, nowMs + EXACT_MS);
  }

  #isExact(keyId: string, nowMs: number): boolean {
    const untilMs = this.#exactUntilMs.get(keyId);
    if (untilMs === undefined) return false;
    if (nowMs < untilMs) return true;
    this.#exactUntilMs.delete(keyId);
    return false;
  }
}

/** With what has come back to the shared bucket since, if no other gateway took it. */
function remainingOf({ tokens, perSecond, answer }: Lease, ageMs: number): number {
  const back = Math.floor((Math.max(0, ageMs) * perSecond) / 1000);
  return Math.min(answer.limit, answer.remaining + back + tokens);
}
