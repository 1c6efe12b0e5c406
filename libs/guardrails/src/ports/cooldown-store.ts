export interface CooldownClaim {
  readonly tenantId: string;
  readonly agentId: string;
  readonly ruleId: string;
  /** Dry runs cool down separately from real triggers. */
  readonly dryRun: boolean;
  readonly triggerId: string;
  /** When the trigger fired by the platform's clock, which is the arrival of its batch. Cooldowns use this time. */
  readonly atMs: number;
  readonly cooldownMs: number;
}

/** The trigger that holds a cooldown, and when it fired. */
export interface CooldownHolder extends Pick<CooldownClaim, 'triggerId' | 'atMs'> {
  /** Cooldowns of triggers before this time have ended. */
  readonly rearmedAtMs?: number;
}

/**
 * Ends the cooldowns of some rules of an agent: triggers at `atMs` or later are accepted. Dry runs keep cooling down.
 */
export interface Rearming extends Pick<CooldownClaim, 'tenantId' | 'agentId' | 'atMs'> {
  readonly ruleIds: readonly string[];
}

/**
 * Cooldowns per rule and agent. The holder is a trigger id, so a redelivered trigger can claim again. Two triggers
 * conflict if they fired less than the cooldown apart, regardless of when and in which order they are evaluated. A
 * backlog therefore produces the same triggers as evaluation without delay.
 */
export interface CooldownStore {
  /**
   * Returns true if the trigger is accepted: no other holds the cooldown at its time, or this trigger already holds it.
   */
  claim(claim: CooldownClaim): Promise<boolean>;
  /** Earlier triggers remain rejected, so that a late one does not start a cooldown that rearming has just ended. */
  rearm(rearming: Rearming): Promise<void>;
}

/** Returns true if a trigger at `atMs` falls into the cooldown that `holder` began. */
export function cooling(holder: CooldownHolder, atMs: number, cooldownMs: number): boolean {
  const { rearmedAtMs } = holder;
  if (rearmedAtMs !== undefined) {
    if (atMs < rearmedAtMs) return true;
    if (holder.atMs < rearmedAtMs) return false;
  }
  return Math.abs(atMs - holder.atMs) < cooldownMs;
}
