import { MINUTE_MS, type Trigger } from '@agentlens/contracts';

/** Of one rule, agent and mode: the newest effective trigger, until when it cools, and how many there were. */
export interface Cooldown {
  readonly triggerId: string;
  readonly lastTriggeredAt: string;
  readonly coolingUntil: string;
  readonly count: number;
  /** The rule was rearmed then: what fired before has no effect any more. Null: never. */
  readonly rearmedAt: string | null;
}

/** Rule, agent and mode (dry runs cool by themselves): what shares a cooldown. */
export function cooldownKey({ tenantId, ruleId, agentId, dryRun }: KeyFields): string {
  return JSON.stringify([tenantId, ruleId, agentId, dryRun]);
}

type KeyFields = Pick<Trigger, 'tenantId' | 'ruleId' | 'agentId' | 'dryRun'>;

export function isInside(cooldown: Cooldown, trigger: Trigger): boolean {
  if (cooldown.count === 0 || cooldown.triggerId === trigger.id) return false;
  if (cooldown.rearmedAt !== null && trigger.triggeredAt < cooldown.rearmedAt) return true;
  return trigger.triggeredAt >= cooldown.lastTriggeredAt && trigger.triggeredAt < cooldown.coolingUntil;
}

/** A late trigger counts, but does not move the newest one back. */
export function cooldownAfter(cooldown: Cooldown, trigger: Trigger): Cooldown {
  const newer = trigger.triggeredAt >= cooldown.lastTriggeredAt;
  const until = coolingUntil(trigger);
  return {
    triggerId: newer ? trigger.id : cooldown.triggerId,
    lastTriggeredAt: newer ? trigger.triggeredAt : cooldown.lastTriggeredAt,
    coolingUntil: until > cooldown.coolingUntil ? until : cooldown.coolingUntil,
    count: cooldown.count + 1,
    rearmedAt: cooldown.rearmedAt,
  };
}

/** True where an older effective trigger than the newest may lie closer than the cooldown. */
export function mayHaveNeighbour(cooldown: Cooldown, trigger: Trigger): boolean {
  if (cooldown.count === 0 || trigger.cooldownMinutes === 0) return false;
  return trigger.triggeredAt < plusMinutes(cooldown.lastTriggeredAt, trigger.cooldownMinutes);
}

/**
 * Whether another effective trigger at that time lies closer than this one's cooldown, before it or after it. One from
 * before the rule was rearmed is nobody's neighbour.
 */
export function isNeighbour(trigger: Trigger, otherTriggeredAt: string): boolean {
  if (trigger.cooldownMinutes === 0) return false;
  const { from, to } = neighbourhood(trigger);
  return otherTriggeredAt > from && otherTriggeredAt < to;
}

/** Exclusive bounds of the times at which another effective trigger would be too close. */
export function neighbourhood({ triggeredAt, cooldownMinutes }: Trigger): {
  readonly from: string;
  readonly to: string;
} {
  return { from: plusMinutes(triggeredAt, -cooldownMinutes), to: plusMinutes(triggeredAt, cooldownMinutes) };
}

export function coolingUntil({ triggeredAt, cooldownMinutes }: Trigger): string {
  return plusMinutes(triggeredAt, cooldownMinutes);
}

function plusMinutes(instant: string, minutes: number): string {
  return new Date(Date.parse(instant) + minutes * MINUTE_MS).toISOString();
}
