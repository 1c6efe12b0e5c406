import { type Quota, type QuotaAnswer, SingleFlight } from '@agentlens/state';

/** Size of a lease: what the clients of a key can send in this time. */
const SLICE_SECONDS = 0.02;
/** Leasing is skipped if fewer requests than this would use up the slice. */
const REQUESTS_PER_SLICE = 4;
/** An unused lease is dropped after this time, so that a quiet key does not hold tokens for long. */
const KEPT_MS = 10_000;
/** A key at its limit is counted per request for this long. */
const EXACT_MS = 100;
const MAX_KEYS = 10_000;

interface Lease {
  tokens: number;
  readonly perSecond: number;
  readonly takenAtMs: number;
  /** The answer of the shared quota that granted the slice. */
  readonly answer: QuotaAnswer;
}

/**
 * Leases slices of a key's quota from the shared bucket and serves requests from them, so that most requests need no
 * round trip. Every token comes from the shared bucket once. Over a second, a key gets at most its rate plus one slice
 * (2 % of it) per gateway, saved from earlier seconds; a key that pauses loses at most that.
 */
export class LeasedQuota implements Quota {
  readonly #leases = new Map<string, Lease>();
  /** Until when a key is counted per request. */
  readonly #exactUntilMs = new Map<string, number>();
  /** Concurrent requests that need a slice share one lease. */
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
    if (this.#leases.size >= MAX_KEYS) this.#leases.clear();
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

/** Adds what has refilled in the shared bucket since, assuming that no other gateway took it. */
function remainingOf({ tokens, perSecond, answer }: Lease, ageMs: number): number {
  const back = Math.floor((Math.max(0, ageMs) * perSecond) / 1000);
  return Math.min(answer.limit, answer.remaining + back + tokens);
}
