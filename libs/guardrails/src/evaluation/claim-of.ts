import type { Trigger } from '@agentlens/contracts';
import type { CooldownClaim } from '../ports/cooldown-store.ts';

const MINUTE_MS = 60_000;

/** Returns the cooldown claim that a trigger depends on, or null if its rule has no cooldown. */
export function claimOf(trigger: Trigger): CooldownClaim | null {
  const { id: triggerId, tenantId, agentId, ruleId, dryRun, cooldownMinutes, triggeredAt } = trigger;
  if (cooldownMinutes === 0) return null;
  const cooldownMs = cooldownMinutes * MINUTE_MS;
  return { tenantId, agentId, ruleId, dryRun, triggerId, atMs: Date.parse(triggeredAt), cooldownMs };
}
