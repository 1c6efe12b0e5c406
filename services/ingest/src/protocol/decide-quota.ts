/** Keys remembered; the one that was asked about longest ago makes room, which at worst fills its bucket. */
const MOST_KEYS = 10_000;

interface Bucket {
  tokens: number;
  atMs: number;
}

/**
 * Questions per second of each key, in a pool of their own: a flood of events must not keep an agent from asking, nor the
 * other way round. The rate is that of the key's events, and a second's worth may come at once. Each instance counts for
 * itself: a question may not cost a round trip to be counted.
 */
export class DecideQuota {
  readonly #buckets = new Map<string, Bucket>();
  readonly #now: () => number;

  constructor(now: () => number) {
    this.#now = now;
  }

  /** False: the key has asked too often. */
  take(keyId: string, perSecond: number): boolean {
    const nowMs = this.#now();
    const most = Math.max(1, perSecond);
    const bucket = this.#buckets.get(keyId) ?? { tokens: most, atMs: nowMs };
    const elapsedMs = Math.max(0, nowMs - bucket.atMs);
    bucket.tokens = Math.min(most, bucket.tokens + (elapsedMs / 1000) * perSecond);
    bucket.atMs = nowMs;
    this.#buckets.delete(keyId);
    this.#buckets.set(keyId, bucket);
    const [oldest] = this.#buckets.keys();
    if (this.#buckets.size > MOST_KEYS && oldest !== undefined) this.#buckets.delete(oldest);
    if (bucket.tokens < 1) return false;
    bucket.tokens -= 1;
    return true;
  }
}
