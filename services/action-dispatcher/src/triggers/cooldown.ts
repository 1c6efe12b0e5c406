import { MINUTE_MS, type Trigger } from '@agentlens/contracts';

/**
 * Cooldown of a rule, agent and mode: the newest effective trigger, the end of its cooldown, and the number of
 * triggers.
 */
export interface Cooldown {
  readonly triggerId: string;
  readonly lastTriggeredAt: string;
  readonly coolingUntil: string;
  readonly count: number;
  /** When the rule was rearmed: earlier triggers no longer count. Null if never. */
  readonly rearmedAt: string | null;
}

/** Key of a cooldown: rule, agent and mode. Dry runs have a cooldown of their own. */
export function cooldownKey({ tenantId, ruleId, agentId, dryRun }: KeyFields): string {
  return JSON.stringify([tenantId, ruleId, agentId, dryRun]);
}

type KeyFields = Pick<Trigger, 'tenantId' | 'ruleId' | 'agentId' | 'dryRun'>;

export function isInside(cooldown: Cooldown, trigger: Trigger): boolean {
  if (cooldown.count === 0 || cooldown.triggerId === trigger.id) return false;
  if (cooldown.rearmedAt !== null && trigger.triggeredAt < cooldown.rearmedAt) return true;
  return trigger.triggeredAt >= cooldown.lastTriggeredAt && trigger.triggeredAt < cooldown.coolingUntil;
}

/** A late trigger counts but does not move the newest one back. */
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

/** True if an older effective trigger may be closer than the cooldown. */
export function mayHaveNeighbour(cooldown: Cooldown, trigger: Trigger): boolean {
  if (cooldown.count === 0 || trigger.cooldownMinutes === 0) return false;
  return trigger.triggeredAt < plusMinutes(cooldown.lastTriggeredAt, trigger.cooldownMinutes);
}

/**
 * True if another effective trigger at that time is closer than the cooldown, before or after. Triggers from before a
 * rearming do not count.
 */
export function isNeighbour(trigger: Trigger, otherTriggeredAt: string): boolean {
  if (trigger.cooldownMinutes === 0) return false;
  const { from, to } = neighbourhood(trigger);
  return otherTriggeredAt > from && otherTriggeredAt < to;
}

/** Exclusive bounds of the time in which another effective trigger would be too close. */
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

/** History of the triggers of a batch, read while their cooldowns are locked. */
export interface Past {
  /** Keys of triggers that are recorded already. */
  readonly known: ReadonlySet<string>;
  /** Keys of triggers with an effective trigger in the history closer than their cooldown. */
  readonly besideEffective: ReadonlySet<string>;
}

export type Cooling = 'effective' | 'cooldown' | 'known';

export function triggerKey({ tenantId, id }: Pick<Trigger, 'tenantId' | 'id'>): string {
  return `${tenantId}:${id}`;
}

/**
 * Decides about each trigger of a batch, in order, with the same result as recording them one by one.
 *
 * @param cooldowns by `cooldownKey`, before the batch
 */
export function coolBatch(
  triggers: readonly Trigger[],
  cooldowns: ReadonlyMap<string, Cooldown>,
  { known, besideEffective }: Past,
): Cooling[] {
  const now = new Map(cooldowns);
  const effective = new Map<string, string[]>();
  return triggers.map((trigger) => {
    if (known.has(triggerKey(trigger))) return 'known';
    const key = cooldownKey(trigger);
    const cooldown = now.get(key);
    if (cooldown === undefined) throw new Error(`the cooldown of trigger ${trigger.id} was not read`);
    const times = effective.get(key) ?? [];
    const beside = besideEffective.has(triggerKey(trigger)) || times.some((time) => isNeighbour(trigger, time));
    if (beside || isInside(cooldown, trigger)) return 'cooldown';
    now.set(key, cooldownAfter(cooldown, trigger));
    effective.set(key, [...times, trigger.triggeredAt]);
    return 'effective';
  });
}
