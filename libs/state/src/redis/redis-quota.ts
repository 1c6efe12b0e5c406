import { MemoryQuota } from '../memory/memory-quota.ts';
import type { Quota, QuotaAnswer } from '../quota.ts';
import { StateUnavailable } from '../state-unavailable.ts';
import { burstOf, quotaAnswer } from '../token-bucket.ts';
import { answered, type RedisConnection } from './connection.ts';
import { quotaKey } from './keys.ts';

/** Quotas shared by all gateways. While Redis is away every process counts for itself: too generous beats refusing all. */
export class RedisQuota implements Quota {
  readonly #redis: RedisConnection;
  readonly #fallback = new MemoryQuota(Date.now);

  constructor(redis: RedisConnection) {
    this.#redis = redis;
  }

  async take(keyId: string, cost: number, perSecond: number, nowMs: number): Promise<QuotaAnswer> {
    // Waiting for a reconnect here would hold up every request to the gateway.
    if (this.#redis.status !== 'ready') return this.#fallback.take(keyId, cost, perSecond, nowMs);
    try {
      return await this.#takeShared(keyId, cost, perSecond, nowMs);
    } catch (error) {
      if (!(error instanceof StateUnavailable)) throw error;
      return this.#fallback.take(keyId, cost, perSecond, nowMs);
    }
  }

  async #takeShared(keyId: string, cost: number, perSecond: number, nowMs: number): Promise<QuotaAnswer> {
    const burst = burstOf(perSecond);
    const call = this.#redis.takeTokens(1, quotaKey(keyId), cost, perSecond, burst, nowMs);
    const [allowed, tokens] = (await answered('take', call)) as [number, string];
    return quotaAnswer(allowed === 1, Number(tokens), Math.min(cost, burst), perSecond);
  }
}
