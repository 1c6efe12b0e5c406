export interface CooldownClaim {
  readonly tenantId: string;
  readonly agentId: string;
  readonly ruleId: string;
  /** Dry runs cool down apart from real triggers. */
  readonly dryRun: boolean;
  readonly triggerId: string;
  readonly cooldownMs: number;
}

/** Who may trigger, per rule and agent. The holder is a trigger id, so a redelivered trigger acquires again. */
export interface CooldownStore {
  /** True if this trigger holds the cooldown now: it was free, or this same trigger held it already. */
  claim(claim: CooldownClaim): Promise<boolean>;
}
