import type { CooldownClaim, CooldownStore, Rearming } from '@agentlens/guardrails';
import { LIFETIMES } from '../lifetimes.ts';
import { cooldownName } from '../windows/answer.ts';
import { answered, type RedisConnection } from './connection.ts';
import { WindowKeys } from './keys.ts';

/** Cooldowns shared by all evaluators. */
export class RedisCooldownStore implements CooldownStore {
  readonly #redis: RedisConnection;

  constructor(redis: RedisConnection) {
    this.#redis = redis;
  }

  async claim({ tenantId, agentId, ruleId, dryRun, triggerId, atMs, cooldownMs }: CooldownClaim): Promise<boolean> {
    if (cooldownMs <= 0) return true;
    const key = new WindowKeys(tenantId).cooldowns(agentId);
    const lifetime = cooldownMs + LIFETIMES.cooldownSlack;
    const name = cooldownName({ ruleId, dryRun });
    const call = this.#redis.claimCooldown(1, key, triggerId, atMs, cooldownMs, lifetime, name);
    return (await answered('claim', call)) === 1;
  }

  async rearm({ tenantId, agentId, ruleIds, atMs }: Rearming): Promise<void> {
    const key = new WindowKeys(tenantId).cooldowns(agentId);
    const names = ruleIds.map((ruleId) => cooldownName({ ruleId, dryRun: false }));
    await answered('rearm', this.#redis.rearmCooldowns(1, key, atMs, ...names));
  }
}
