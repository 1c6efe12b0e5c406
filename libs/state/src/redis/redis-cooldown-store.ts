import type { CooldownClaim, CooldownStore } from '@agentlens/guardrails';
import { LIFETIMES } from '../lifetimes.ts';
import { answered, type RedisConnection } from './connection.ts';
import { AgentKeys } from './keys.ts';

/** Cooldowns shared by all evaluators. */
export class RedisCooldownStore implements CooldownStore {
  readonly #redis: RedisConnection;

  constructor(redis: RedisConnection) {
    this.#redis = redis;
  }

  async claim({ tenantId, agentId, ruleId, dryRun, triggerId, atMs, cooldownMs }: CooldownClaim): Promise<boolean> {
    if (cooldownMs <= 0) return true;
    const key = new AgentKeys(tenantId, agentId).cooldown(ruleId, dryRun);
    const lifetime = cooldownMs + LIFETIMES.cooldownSlack;
    return (await answered('claim', this.#redis.claimCooldown(1, key, triggerId, atMs, cooldownMs, lifetime))) === 1;
  }
}
