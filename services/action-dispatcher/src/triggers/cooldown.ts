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

/** What the history says about the triggers of a batch, read under the locks of their cooldowns. */
export interface Past {
  /** Keys of triggers that are recorded already. */
  readonly known: ReadonlySet<string>;
  /** Keys of triggers that have an effective one of the history closer than their cooldown. */
  readonly besideEffective: ReadonlySet<string>;
}

export type Cooling = 'effective' | 'cooldown' | 'known';

export function triggerKey({ tenantId, id }: Pick<Trigger, 'tenantId' | 'id'>): string {
  return `${tenantId}:${id}`;
}

/**
 * What becomes of each trigger of a batch, in the order of the batch: the same as if each had been recorded alone, one
 * after the other.
 *
 * @param cooldowns by `cooldownKey`, as they are before the batch; one of each trigger
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
