import type { CooldownClaim, CooldownStore } from '@agentlens/guardrails';
import { ExpiringMap } from './expiring-map.ts';

type CooldownKey = Pick<CooldownClaim, 'tenantId' | 'agentId' | 'ruleId' | 'dryRun'>;

/** Cooldowns of one process. */
export class MemoryCooldownStore implements CooldownStore {
  readonly #holders: ExpiringMap<string>;

  constructor(now: () => number) {
    this.#holders = new ExpiringMap(now);
  }

  async claim(claim: CooldownClaim): Promise<boolean> {
    if (claim.cooldownMs <= 0) return true;
    const holder = this.holder(claim);
    if (holder !== null) return holder === claim.triggerId;
    this.#holders.set(keyOf(claim), claim.triggerId, claim.cooldownMs);
    return true;
  }

  /** The trigger that holds the cooldown, or null. */
  holder(key: CooldownKey): string | null {
    return this.#holders.get(keyOf(key)) ?? null;
  }
}

function keyOf({ tenantId, agentId, ruleId, dryRun }: CooldownKey): string {
  return JSON.stringify([tenantId, agentId, ruleId, dryRun]);
}
