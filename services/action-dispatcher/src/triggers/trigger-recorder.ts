import { deliverySettled, derivedId, type Trigger } from '@agentlens/contracts';
import type { Tables } from '@agentlens/database';
import type { Kysely, Transaction } from 'kysely';
import { putInOutbox } from '../outbox/outbox.ts';
import type { TriggerPartitions } from './trigger-partitions.ts';
import {
  type Decision,
  hasEffectiveNeighbour,
  insertDelivery,
  insertTrigger,
  isInside,
  lockCooldown,
  startCooldown,
} from './triggers.repository.ts';

/** What became of a trigger; `known` is one that was recorded before. */
export type Recorded = 'queued' | 'dry_run' | 'cooldown' | 'failed' | 'known';

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

function settledAtOnce(trigger: Trigger, decision: Decision, deliveryId: string, at: string) {
  const { id: triggerId, tenantId, ruleId, agentId, actionType } = trigger;
  const { result, detail } = decision;
  return { deliveryId, triggerId, tenantId, ruleId, agentId, actionType, result, attempts: 0, detail, settledAt: at };
}
