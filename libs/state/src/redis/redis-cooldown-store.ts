import type { CooldownClaim, CooldownStore } from '@agentlens/guardrails';
import { answered, type RedisConnection } from './connection.ts';
import { AgentKeys } from './keys.ts';

/** Cooldowns shared by all evaluators. */
export class RedisCooldownStore implements CooldownStore {
  readonly #redis: RedisConnection;

  constructor(redis: RedisConnection) {
    this.#redis = redis;
  }

  async claim({ tenantId, agentId, ruleId, dryRun, triggerId, cooldownMs }: CooldownClaim): Promise<boolean> {
    if (cooldownMs <= 0) return true;
    const key = new AgentKeys(tenantId, agentId).cooldown(ruleId, dryRun);
    const holder = await answered('claim', this.#redis.set(key, triggerId, 'PX', cooldownMs, 'NX', 'GET'));
    return holder === null || holder === triggerId;
  }
}
