import { type ActionResult, deliverySettled, derivedId, type Trigger } from '@agentlens/contracts';
import type { Tables } from '@agentlens/database';
import type { Kysely, Transaction } from 'kysely';
import { addressOf } from '../destinations/destination.ts';
import { putInOutbox } from '../outbox/outbox.ts';
import type { TriggerPartitions } from './trigger-partitions.ts';

/** What became of a trigger; `known` is one that was recorded before. */
export type Recorded = 'queued' | 'dry_run' | 'cooldown' | 'failed' | 'known';

interface Decision {
  readonly result: ActionResult;
  readonly detail?: string;
  /** The action to carry out, as the rule stands now. */
  readonly action?: { readonly type: string; readonly config: Record<string, unknown> };
}

const MINUTE_MS = 60_000;

/**
 * Turns triggers into history and deliveries, exactly once each, in whatever order and however often they arrive. The
 * authority on cooldowns: per rule, agent and mode, two effective triggers are never closer than the cooldown, decided
 * under a row lock. Which of two contenders is effective is decided by arrival here, never by both.
 */
export class TriggerRecorder {
  constructor(
    private readonly db: Kysely<Tables>,
    private readonly partitions: TriggerPartitions,
    private readonly now: () => number,
  ) {}

  async record(trigger: Trigger, traceparent?: string): Promise<Recorded> {
    await this.partitions.ensure(trigger.triggeredAt);
    const at = new Date(this.now()).toISOString();
    return this.db.transaction().execute(async (tx) => {
      const cooldown = await lockCooldown(tx, trigger);
      const cooling = isInside(cooldown, trigger) || (await hasEffectiveNeighbour(tx, trigger));
      const decision = cooling ? ({ result: 'cooldown' } as const) : await decide(tx, trigger);
      if (!(await insertTrigger(tx, trigger, decision, at))) return 'known';

      const deliveryId = derivedId(Date.parse(trigger.triggeredAt), trigger.tenantId, trigger.id, 'delivery');
      if (!cooling) await startCooldown(tx, trigger);
      if (decision.action !== undefined) {
        await insertDelivery(tx, trigger, decision.action, { deliveryId, at, traceparent });
        return 'queued';
      }
      await putInOutbox(tx, deliverySettled, settledAtOnce(trigger, decision, deliveryId, at), at);
      return decision.result as Recorded;
    });
  }
}

interface Cooldown {
  readonly trigger_id: string;
  readonly last_triggered_at: string;
  readonly cooling_until: string;
  readonly trigger_count: number;
}

/** Takes the row lock of rule x agent x mode; the row is made here if this is its first trigger. */
function lockCooldown(tx: Transaction<Tables>, trigger: Trigger): Promise<Cooldown> {
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

function isInside(cooldown: Cooldown, trigger: Trigger): boolean {
  if (cooldown.trigger_count === 0 || cooldown.trigger_id === trigger.id) return false;
  return trigger.triggeredAt >= cooldown.last_triggered_at && trigger.triggeredAt < cooldown.cooling_until;
}

/** The row knows only the newest; a trigger that comes late may fall beside an older one. */
async function hasEffectiveNeighbour(tx: Transaction<Tables>, trigger: Trigger): Promise<boolean> {
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

/**
 * A rule may have been changed or deleted since it fired: the action carried out is the rule's action as it stands now
 * (deleted rules stay readable), because that is what its owner last asked for.
 */
async function decide(tx: Transaction<Tables>, trigger: Trigger): Promise<Decision> {
  if (trigger.dryRun) return { result: 'dry_run' };
  const rule = await tx
    .selectFrom('guardrail_rules')
    .select(['action_type', 'action_config'])
    .where('tenant_id', '=', trigger.tenantId)
    .where('rule_id', '=', trigger.ruleId)
    .executeTakeFirst();
  if (rule === undefined) return { result: 'failed', detail: 'the rule is not known, so its action is not either' };
  return { result: 'pending', action: { type: rule.action_type, config: rule.action_config } };
}

async function insertTrigger(
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
async function startCooldown(tx: Transaction<Tables>, trigger: Trigger): Promise<void> {
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

async function insertDelivery(
  tx: Transaction<Tables>,
  trigger: Trigger,
  action: { readonly type: string; readonly config: Record<string, unknown> },
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

function settledAtOnce(trigger: Trigger, decision: Decision, deliveryId: string, at: string) {
  const { id: triggerId, tenantId, ruleId, agentId, actionType } = trigger;
  const { result, detail } = decision;
  return { deliveryId, triggerId, tenantId, ruleId, agentId, actionType, result, attempts: 0, detail, settledAt: at };
}

function cooldownKey(trigger: Trigger) {
  const { tenantId: tenant_id, ruleId: rule_id, agentId: agent_id, dryRun: dry_run } = trigger;
  return { tenant_id, rule_id, agent_id, dry_run };
}

function plusMinutes(instant: string, minutes: number): string {
  return new Date(Date.parse(instant) + minutes * MINUTE_MS).toISOString();
}
