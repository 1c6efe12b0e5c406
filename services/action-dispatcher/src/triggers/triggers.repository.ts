import type { ActionResult, Trigger } from '@agentlens/contracts';
import type { Tables } from '@agentlens/database';
import type { Transaction } from 'kysely';
import { addressOf } from '../destinations/destination.ts';

/** What is to become of a trigger, decided before anything of it is written. */
export interface Decision {
  readonly result: ActionResult;
  readonly detail?: string;
  /** The action to carry out, as the rule stands now. */
  readonly action?: Action;
}

export interface Action {
  readonly type: string;
  readonly config: Record<string, unknown>;
}

const MINUTE_MS = 60_000;

export interface Cooldown {
  readonly trigger_id: string;
  readonly last_triggered_at: string;
  readonly cooling_until: string;
  readonly trigger_count: number;
}

/** Takes the row lock of rule x agent x mode; the row is made here if this is its first trigger. */
export function lockCooldown(tx: Transaction<Tables>, trigger: Trigger): Promise<Cooldown> {
  return tx
    .insertInto('trigger_cooldowns')
    .values({
      ...cooldownKey(trigger),
      trigger_id: trigger.id,
      last_triggered_at: trigger.triggeredAt,
      cooling_until: trigger.triggeredAt,
      trigger_count: 0,
    })
    .onConflict((conflict) =>
      conflict
        .columns(['tenant_id', 'rule_id', 'agent_id', 'dry_run'])
        .doUpdateSet((eb) => ({ trigger_count: eb.ref('trigger_cooldowns.trigger_count') })),
    )
    .returning(['trigger_id', 'last_triggered_at', 'cooling_until', 'trigger_count'])
    .executeTakeFirstOrThrow();
}

export function isInside(cooldown: Cooldown, trigger: Trigger): boolean {
  if (cooldown.trigger_count === 0 || cooldown.trigger_id === trigger.id) return false;
  return trigger.triggeredAt >= cooldown.last_triggered_at && trigger.triggeredAt < cooldown.cooling_until;
}

/** The row knows only the newest; a trigger that comes late may fall beside an older one. */
export async function hasEffectiveNeighbour(tx: Transaction<Tables>, trigger: Trigger): Promise<boolean> {
  if (trigger.cooldownMinutes === 0) return false;
  const neighbour = await tx
    .selectFrom('guardrail_triggers')
    .select('trigger_id')
    .where('tenant_id', '=', trigger.tenantId)
    .where('rule_id', '=', trigger.ruleId)
    .where('agent_id', '=', trigger.agentId)
    .where('dry_run', '=', trigger.dryRun)
    .where('action_result', '<>', 'cooldown')
    .where('trigger_id', '<>', trigger.id)
    .where('triggered_at', '>', plusMinutes(trigger.triggeredAt, -trigger.cooldownMinutes))
    .where('triggered_at', '<', plusMinutes(trigger.triggeredAt, trigger.cooldownMinutes))
    .limit(1)
    .executeTakeFirst();
  return neighbour !== undefined;
}

export async function insertTrigger(
  tx: Transaction<Tables>,
  trigger: Trigger,
  decision: Decision,
  at: string,
): Promise<boolean> {
  const inserted = await tx
    .insertInto('guardrail_triggers')
    .values({
      tenant_id: trigger.tenantId,
      triggered_at: trigger.triggeredAt,
      trigger_id: trigger.id,
      rule_id: trigger.ruleId,
      rule_version: trigger.ruleVersion,
      rule_name: trigger.ruleName,
      agent_id: trigger.agentId,
      run_id: trigger.runId ?? null,
      event_id: trigger.eventId ?? null,
      condition_type: trigger.conditionType,
      condition_value: trigger.conditionValue,
      condition_threshold: trigger.conditionThreshold,
      action_type: decision.action?.type ?? trigger.actionType,
      message: trigger.message,
      dry_run: trigger.dryRun,
      cooldown_minutes: trigger.cooldownMinutes,
      action_result: decision.result,
      action_detail: decision.detail ?? null,
      settled_at: decision.action === undefined ? at : null,
    })
    .onConflict((conflict) => conflict.columns(['tenant_id', 'triggered_at', 'trigger_id']).doNothing())
    .returning('trigger_id')
    .executeTakeFirst();
  return inserted !== undefined;
}

/** A late trigger counts, but does not move the newest one back. */
export async function startCooldown(tx: Transaction<Tables>, trigger: Trigger): Promise<void> {
  const { tenant_id, rule_id, agent_id, dry_run } = cooldownKey(trigger);
  const until = plusMinutes(trigger.triggeredAt, trigger.cooldownMinutes);
  await tx
    .updateTable('trigger_cooldowns')
    .set((eb) => ({
      trigger_count: eb('trigger_count', '+', 1),
      trigger_id: eb
        .case()
        .when('last_triggered_at', '<=', trigger.triggeredAt)
        .then(trigger.id)
        .else(eb.ref('trigger_id'))
        .end(),
      last_triggered_at: eb.fn<string>('greatest', ['last_triggered_at', eb.val(trigger.triggeredAt)]),
      cooling_until: eb.fn<string>('greatest', ['cooling_until', eb.val(until)]),
    }))
    .where('tenant_id', '=', tenant_id)
    .where('rule_id', '=', rule_id)
    .where('agent_id', '=', agent_id)
    .where('dry_run', '=', dry_run)
    .execute();
}

export async function insertDelivery(
  tx: Transaction<Tables>,
  trigger: Trigger,
  action: Action,
  { deliveryId, at, traceparent }: { deliveryId: string; at: string; traceparent?: string | undefined },
): Promise<void> {
  await tx
    .insertInto('deliveries')
    .values({
      tenant_id: trigger.tenantId,
      delivery_id: deliveryId,
      trigger_id: trigger.id,
      triggered_at: trigger.triggeredAt,
      rule_id: trigger.ruleId,
      agent_id: trigger.agentId,
      action_type: action.type,
      action_config: JSON.stringify(action.config),
      destination: addressOf(action.type, action.config)?.id ?? null,
      traceparent: traceparent ?? null,
      result: 'pending',
      next_attempt_at: at,
      lease_until: null,
      lease_id: null,
      detail: null,
      created_at: at,
      settled_at: null,
    })
    .execute();
}

function cooldownKey(trigger: Trigger) {
  const { tenantId: tenant_id, ruleId: rule_id, agentId: agent_id, dryRun: dry_run } = trigger;
  return { tenant_id, rule_id, agent_id, dry_run };
}

function plusMinutes(instant: string, minutes: number): string {
  return new Date(Date.parse(instant) + minutes * MINUTE_MS).toISOString();
}
