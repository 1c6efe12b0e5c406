import { ProblemException } from '@agentlens/platform';
import { BoundedMap, type Bucket, type Quota, type QuotaAnswer, SingleFlight, takeFrom } from '@agentlens/state';

/** Size of a lease: what the clients of a key can send in this time. */
const SLICE_SECONDS = 0.02;
/** Leasing is skipped if fewer requests than this would use up the slice. */
const REQUESTS_PER_SLICE = 4;
/** An unused lease is dropped after this time, so that a quiet key does not hold tokens for long. */
const KEPT_MS = 10_000;
/** A key at its limit is counted per request for this long. */
const EXACT_MS = 100;
/** Maximum number of keys that each quota tracks. Evicting one at worst refills its bucket. */
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
export class LeasedQuota {
  readonly #leases = new Map<string, Lease>();
  /** Until when a key is counted per request. */
  readonly #exactUntilMs = new Map<string, number>();
  /** Concurrent requests that need a slice share one lease. */
  readonly #leasing = new SingleFlight<void>();

  constructor(private readonly shared: Quota) {}

  /** Answers at once from a lease. */
  take(keyId: string, cost: number, perSecond: number, nowMs: number): QuotaAnswer | Promise<QuotaAnswer> {
    const slice = Math.floor(perSecond * SLICE_SECONDS);
    if (slice < cost * REQUESTS_PER_SLICE || this.#isExact(keyId, nowMs)) {
      return this.shared.take(keyId, cost, perSecond, nowMs);
    }
    return this.#fromLease(keyId, cost, perSecond, nowMs) ?? this.#afterLeasing(keyId, cost, perSecond, nowMs);
  }

  async #afterLeasing(keyId: string, cost: number, perSecond: number, nowMs: number): Promise<QuotaAnswer> {
    await this.#leasing.run(keyId, () => this.#lease(keyId, Math.floor(perSecond * SLICE_SECONDS), perSecond, nowMs));
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

/**
 * Limits the questions per second of each key, separately from events: a flood of events must not keep an agent from
 * asking, and vice versa. The rate is that of the key's events, with a burst of one second. Each instance counts
 * separately, because a question must not cost a round trip.
 */
export class DecideQuota {
  readonly #buckets = new BoundedMap<Bucket>(MAX_KEYS);
  readonly #now: () => number;

  constructor(now: () => number) {
    this.#now = now;
  }

  /** Returns false if the key asks too often. */
  take(keyId: string, perSecond: number): boolean {
    const { bucket, answer } = takeFrom(this.#buckets.get(keyId), 1, perSecond, this.#now());
    this.#buckets.set(keyId, bucket);
    return answer.allowed;
  }
}

/** Allowance per key. Reading a body costs 5 to 10 ns per byte even if everything in it is rejected. */
const BYTES_PER_SECOND = 10_000_000;
const BURST_BYTES = 20_000_000;

/**
 * Charges each key for bodies that were read and rejected, because the event quota does not count them. A key that has
 * used up its allowance is rejected before its next body is read.
 */
export class RejectedBodies {
  readonly #buckets = new BoundedMap<Bucket>(MAX_KEYS);
  readonly #now: () => number;

  constructor(now: () => number) {
    this.#now = now;
  }

  charge(keyId: string, bytes: number): void {
    const { tokens, atMs } = this.#refilled(keyId);
    this.#buckets.set(keyId, { tokens: tokens - bytes, atMs });
  }

  /** @throws ProblemException 429 */
  refuseIfUsedUp(keyId: string): void {
    const { tokens } = this.#refilled(keyId);
    if (tokens > 0) return;
    const seconds = Math.max(1, Math.ceil(-tokens / BYTES_PER_SECOND));
    throw new ProblemException(429, 'Too many rejected requests', {
      hint: `This API key sent more rejected data than it may. Fix what the answers named, then wait ${seconds} s.`,
      headers: { 'retry-after': String(seconds) },
    });
  }

  /** The body was read already, so its charge always fits: only the refill of the bucket is shared with quotas. */
  #refilled(keyId: string): Bucket {
    return takeFrom(this.#buckets.get(keyId), 0, BYTES_PER_SECOND, this.#now(), BURST_BYTES).bucket;
  }
}
