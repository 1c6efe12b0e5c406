import type { Quota, QuotaAnswer } from '../quota.ts';
import { type Bucket, lifetimeOf, takeFrom } from '../token-bucket.ts';
import { ExpiringMap } from './expiring-map.ts';

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
