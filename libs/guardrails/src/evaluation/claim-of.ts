import type { Trigger } from '@agentlens/contracts';
import type { CooldownClaim } from '../ports/cooldown-store.ts';

const MINUTE_MS = 60_000;

/** The cooldown a trigger has to have to stand; null: its rule has none. */
export function claimOf(trigger: Trigger): CooldownClaim | null {
  const { id: triggerId, tenantId, agentId, ruleId, dryRun, cooldownMinutes, triggeredAt } = trigger;
  if (cooldownMinutes === 0) return null;
  const cooldownMs = cooldownMinutes * MINUTE_MS;
  return { tenantId, agentId, ruleId, dryRun, triggerId, atMs: Date.parse(triggeredAt), cooldownMs };
}
