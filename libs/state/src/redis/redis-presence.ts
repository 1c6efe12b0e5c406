import type { Instance, Presence } from '../presence.ts';
import { answered, type RedisConnection } from './connection.ts';
import { presenceKey } from './keys.ts';

/** The instances that listen to any gateway, in one sorted set per tenant, scored by when they are gone. */
export class RedisPresence implements Presence {
  readonly #redis: RedisConnection;
  readonly #now: () => number;

  /** Gateways' clocks may differ by a fraction of a lifetime, no more matters. */
  constructor(redis: RedisConnection, now: () => number) {
    this.#redis = redis;
    this.#now = now;
  }

  async touch(tenantId: string, agentId: string, instanceId: string, ttlMs: number): Promise<void> {
    const key = presenceKey(tenantId);
    const nowMs = this.#now();
    const call = this.#redis
      .multi()
      .zremrangebyscore(key, '-inf', nowMs)
      .zadd(key, nowMs + ttlMs, JSON.stringify([agentId, instanceId]))
      .pexpire(key, Math.max(ttlMs, LEAST_KEY_LIFE_MS))
      .exec();
    await answered('touch', call);
  }

  async list(tenantId: string, agentId?: string): Promise<readonly Instance[]> {
    const call = this.#redis.zrangebyscore(presenceKey(tenantId), `(${this.#now()}`, '+inf');
    const names = await answered('list', call);
    return names
      .map((name) => JSON.parse(name) as [string, string])
      .filter(([agent]) => agentId === undefined || agent === agentId)
      .map(([agent, instanceId]) => ({ agentId: agent, instanceId }));
  }
}

/** A short-lived instance must not take the key with it while others are still present. */
const LEAST_KEY_LIFE_MS = 600_000;
