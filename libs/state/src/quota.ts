import { ExpiringMap } from './memory/evicting-maps.ts';

export interface QuotaAnswer {
  readonly allowed: boolean;
  readonly limit: number;
  readonly remaining: number;
  /** Time until the bucket is full or, if refused, until `cost` fits. */
  readonly retryAfterMs: number;
}

/** Token bucket per API key, counted in events. Allows a burst of one second. */
export interface Quota {
  take(keyId: string, cost: number, perSecond: number, nowMs: number): Promise<QuotaAnswer>;
}

/** Tokens at a point in time. A negative number is a debt that must be paid off first. */
export interface Bucket {
  readonly tokens: number;
  readonly atMs: number;
}

/** The amount of one second, but at least one event. `perSecond` must be positive. */
export function burstOf(perSecond: number): number {
  return Math.max(1, perSecond);
}

/**
 * Takes `cost` tokens. A request larger than the bucket is allowed if the bucket is full, and leaves a debt; otherwise
 * it could never pass, and the average rate is still kept. If the caller's clock is behind, the bucket is used as it
 * is.
 *
 * @param burst capacity of the bucket
 */
export function takeFrom(
  bucket: Bucket | undefined,
  cost: number,
  perSecond: number,
  nowMs: number,
  burst = burstOf(perSecond),
): { bucket: Bucket; answer: QuotaAnswer } {
  const atMs = Math.max(nowMs, bucket?.atMs ?? nowMs);
  const filled = bucket ? Math.min(burst, bucket.tokens + ((atMs - bucket.atMs) * perSecond) / 1000) : burst;
  const needed = Math.min(cost, burst);
  const allowed = filled >= needed;
  const tokens = allowed ? filled - cost : filled;
  return { bucket: { tokens, atMs }, answer: quotaAnswer(allowed, tokens, needed, perSecond) };
}

/** Time until an unused bucket is full and can be dropped, ms. */
export function lifetimeOf(tokens: number, perSecond: number): number {
  return Math.ceil(((burstOf(perSecond) - tokens) * 1000) / perSecond) + 1000;
}

/** Answer for a bucket that holds `tokens` after the request. */
export function quotaAnswer(allowed: boolean, tokens: number, needed: number, perSecond: number): QuotaAnswer {
  const missing = (allowed ? burstOf(perSecond) : needed) - tokens;
  return {
    allowed,
    limit: burstOf(perSecond),
    remaining: Math.max(0, Math.floor(tokens)),
    retryAfterMs: Math.max(0, Math.ceil((missing * 1000) / perSecond)),
  };
}

/** Token buckets of one process; also the fallback while Redis is unreachable. */
export class MemoryQuota implements Quota {
  readonly #buckets: ExpiringMap<Bucket>;

  constructor(now: () => number) {
    this.#buckets = new ExpiringMap(now);
  }

  async take(keyId: string, cost: number, perSecond: number, nowMs: number): Promise<QuotaAnswer> {
    const { bucket, answer } = takeFrom(this.#buckets.get(keyId), cost, perSecond, nowMs);
    this.#buckets.set(keyId, bucket, lifetimeOf(bucket.tokens, perSecond));
    return answer;
  }
}
