import type { CooldownClaim, CooldownHolder, CooldownStore, Rearming } from '@agentlens/guardrails';
import { cooling } from '@agentlens/guardrails/ports';
import { LIFETIMES } from '../lifetimes.ts';
import type { ExpiringMap } from './expiring-map.ts';
import type { MemorySnapshots } from './memory-snapshots.ts';

type CooldownKey = Pick<CooldownClaim, 'tenantId' | 'agentId' | 'ruleId' | 'dryRun'>;

/** Cooldowns of one process. */
export class MemoryCooldownStore implements CooldownStore {
  readonly #holders: ExpiringMap<CooldownHolder>;

  constructor(snapshots: MemorySnapshots) {
    this.#holders = snapshots.map('cooldowns');
  }

  async claim(claim: CooldownClaim): Promise<boolean> {
    if (claim.cooldownMs <= 0) return true;
    const { triggerId, atMs, cooldownMs } = claim;
    const holder = this.holder(claim);
    if (holder?.triggerId === triggerId) return true;
    if (holder !== null && cooling(holder, atMs, cooldownMs)) return false;
    if (holder === null || holder.atMs < atMs) {
      this.#holders.set(keyOf(claim), { ...holder, triggerId, atMs }, cooldownMs + LIFETIMES.cooldownSlack);
    }
    return true;
  }

  async rearm({ tenantId, agentId, ruleIds, atMs }: Rearming): Promise<void> {
    for (const ruleId of ruleIds) {
      const key = keyOf({ tenantId, agentId, ruleId, dryRun: false });
      this.#holders.change(key, (holder) => ({
        ...holder,
        rearmedAtMs: Math.max(atMs, holder.rearmedAtMs ?? atMs),
      }));
    }
  }

  /** The trigger that holds the cooldown, or null. */
  holder(key: CooldownKey): CooldownHolder | null {
    return this.#holders.get(keyOf(key)) ?? null;
  }
}

function keyOf({ tenantId, agentId, ruleId, dryRun }: CooldownKey): string {
  return JSON.stringify([tenantId, agentId, ruleId, dryRun]);
}
