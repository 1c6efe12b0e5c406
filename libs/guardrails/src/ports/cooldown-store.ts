export interface CooldownClaim {
  readonly tenantId: string;
  readonly agentId: string;
  readonly ruleId: string;
  /** Dry runs cool down apart from real triggers. */
  readonly dryRun: boolean;
  readonly triggerId: string;
  /** When the trigger fired, by the platform's clock: the arrival of its batch. Cooldowns are measured in this time. */
  readonly atMs: number;
  readonly cooldownMs: number;
}

/** The trigger that holds a cooldown, and when it fired. */
export interface CooldownHolder extends Pick<CooldownClaim, 'triggerId' | 'atMs'> {
  /** The cooldown of everything that fired before this was ended. */
  readonly rearmedAtMs?: number;
}

/** Ends the cooldowns of some rules of an agent: what fires at `atMs` or later may stand. Dry runs go on cooling. */
export interface Rearming extends Pick<CooldownClaim, 'tenantId' | 'agentId' | 'atMs'> {
  readonly ruleIds: readonly string[];
}

/**
 * Who may trigger, per rule and agent. The holder is a trigger id, so a redelivered trigger acquires again. Two triggers
 * are inside one cooldown when they fired less than it apart, however late or in whatever order they are evaluated: a
 * backlog gives the triggers that evaluation without delay would have given.
 */
export interface CooldownStore {
  /** True if this trigger may stand: no other holds the cooldown at its time, or this same trigger holds it already. */
  claim(claim: CooldownClaim): Promise<boolean>;
  /** What fired before stays refused, so that a trigger that comes late does not undo what the rule was rearmed for. */
  rearm(rearming: Rearming): Promise<void>;
}

/** Whether a trigger at `atMs` falls into the cooldown that `holder` began. */
export function cooling(holder: CooldownHolder, atMs: number, cooldownMs: number): boolean {
  const { rearmedAtMs } = holder;
  if (rearmedAtMs !== undefined) {
    if (atMs < rearmedAtMs) return true;
    if (holder.atMs < rearmedAtMs) return false;
  }
  return Math.abs(atMs - holder.atMs) < cooldownMs;
}
