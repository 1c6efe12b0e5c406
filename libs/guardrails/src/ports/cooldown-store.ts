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
export type CooldownHolder = Pick<CooldownClaim, 'triggerId' | 'atMs'>;

/**
 * Who may trigger, per rule and agent. The holder is a trigger id, so a redelivered trigger acquires again. Two triggers
 * are inside one cooldown when they fired less than it apart, however late or in whatever order they are evaluated: a
 * backlog gives the triggers that evaluation without delay would have given.
 */
export interface CooldownStore {
  /** True if this trigger may stand: no other holds the cooldown at its time, or this same trigger holds it already. */
  claim(claim: CooldownClaim): Promise<boolean>;
}

/** Whether a trigger at `atMs` falls into the cooldown that `holder` began. */
export function cooling(holder: CooldownHolder, atMs: number, cooldownMs: number): boolean {
  return Math.abs(atMs - holder.atMs) < cooldownMs;
}
