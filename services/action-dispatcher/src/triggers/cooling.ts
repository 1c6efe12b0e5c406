import type { Trigger } from '@agentlens/contracts';
import { type Cooldown, cooldownAfter, cooldownKey, isInside, isNeighbour } from './cooldown.ts';

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
