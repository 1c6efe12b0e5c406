import { ExpiringMap } from './memory/evicting-maps.ts';

export interface QuotaAnswer {
  readonly allowed: boolean;
  readonly limit: number;
  readonly remaining: number;
  /** Until the bucket is full again, or, when refused, until `cost` fits. */
  readonly retryAfterMs: number;
}

/** Token bucket per API key, counted in events. A burst of one second's worth is allowed. */
export interface Quota {
  take(keyId: string, cost: number, perSecond: number, nowMs: number): Promise<QuotaAnswer>;
}

/** Tokens left and when that was. Below zero is debt that is paid off before anything else passes. */
export interface Bucket {
  readonly tokens: number;
  readonly atMs: number;
}

/** One second's worth, but never less than one event. `perSecond` is above zero. */
export function burstOf(perSecond: number): number {
  return Math.max(1, perSecond);
}

/**
 * Takes `cost` tokens. A request larger than the whole bucket passes when the bucket is full and leaves a debt: it could
 * otherwise never pass, and the average rate still holds. A caller whose clock is behind finds the bucket as it is.
 *
 * @param burst what a full bucket holds
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

/** After this long an untouched bucket is full, and so need not be kept. */
export function lifetimeOf(tokens: number, perSecond: number): number {
  return Math.ceil(((burstOf(perSecond) - tokens) * 1000) / perSecond) + 1000;
}

/** What the caller is told about a bucket that holds `tokens` after the request. */
export function quotaAnswer(allowed: boolean, tokens: number, needed: number, perSecond: number): QuotaAnswer {
  const missing = (allowed ? burstOf(perSecond) : needed) - tokens;
  return {
    allowed,
    limit: burstOf(perSecond),
    remaining: Math.max(0, Math.floor(tokens)),
    retryAfterMs: Math.max(0, Math.ceil((missing * 1000) / perSecond)),
  };
}

/** Token buckets of one process; also what a process falls back to while Redis is away. */
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
