import { type DeliverySettled, derivedId, type Trigger } from '@agentlens/contracts';
import type { ClaimedDelivery } from '../deliveries/claimed-delivery.ts';
import type { Reservation } from '../deliveries/lanes.ts';
import { addressOf } from '../deliveries/prepared-action.ts';
import type { Action, Entry } from './triggers.repository.ts';

/** A trigger as it arrived. */
export interface TriggerArrival {
  readonly trigger: Trigger;
  /** W3C trace context of the publisher. */
  readonly traceparent?: string | undefined;
}

/** What to write about a trigger, and what to report and carry out after the commit. */
export interface DispatchPlan extends Entry {
  readonly recorded: 'queued' | 'begun' | 'dry_run' | 'cooldown' | 'failed';
  readonly claimed?: ClaimedDelivery;
}

interface Fate {
  readonly arrival: TriggerArrival;
  readonly cooling: 'effective' | 'cooldown';
  /**
   * The rule's current action: a rule may have been changed or deleted since it fired (deleted rules stay readable).
   * Undefined if the rule is unknown.
   */
  readonly action: Action | undefined;
  readonly at: string;
  /** Undefined: deliveries wait in the table. */
  readonly reservation: Reservation | undefined;
}

export function planOf({ arrival: { trigger, traceparent }, cooling, action, at, reservation }: Fate): DispatchPlan {
  const deliveryId = derivedId(Date.parse(trigger.triggeredAt), trigger.tenantId, trigger.id, 'delivery');
  const effective = cooling === 'effective';
  if (!effective || trigger.dryRun || action === undefined) {
    const recorded = !effective ? 'cooldown' : trigger.dryRun ? 'dry_run' : 'failed';
    const detail = recorded === 'failed' ? 'the rule is unknown, so its action is too' : undefined;
    const fact = settledAtOnce(trigger, { recorded, detail, deliveryId, at });
    return { trigger, result: recorded, effective, recorded, fact, ...(detail === undefined ? {} : { detail }) };
  }
  const { tenantId } = trigger;
  const id = addressOf(action.type, action.config)?.id ?? null;
  const destination = id === null ? null : { tenantId, id };
  const delivery = { deliveryId, action, destination: id, traceparent: traceparent ?? null };
  const plan = { trigger, result: 'pending', effective } as const;
  if (!reservation?.reserve({ tenantId, deliveryId, destination })) {
    return { ...plan, delivery: { ...delivery, lease: null }, recorded: 'queued' };
  }
  const leaseUntil = new Date(Date.parse(at) + reservation.leaseMs).toISOString();
  const claimed: ClaimedDelivery = {
    tenantId,
    deliveryId,
    triggerId: trigger.id,
    triggeredAt: trigger.triggeredAt,
    ruleId: trigger.ruleId,
    agentId: trigger.agentId,
    leaseId: reservation.leaseId,
    attempts: 0,
    createdAt: at,
    actionType: action.type,
    actionConfig: action.config,
    destination,
    webhookId: null,
    disabled: null,
    traceparent: delivery.traceparent,
    trigger: { ...trigger, actionType: action.type },
  };
  return {
    ...plan,
    delivery: { ...delivery, lease: { id: reservation.leaseId, until: leaseUntil } },
    recorded: 'begun',
    claimed,
  };
}

interface AtOnce {
  readonly recorded: 'cooldown' | 'dry_run' | 'failed';
  readonly detail: string | undefined;
  readonly deliveryId: string;
  readonly at: string;
}

function settledAtOnce(trigger: Trigger, { recorded, detail, deliveryId, at }: AtOnce): DeliverySettled {
  const { id: triggerId, tenantId, ruleId, agentId, actionType } = trigger;
  return {
    ...{ deliveryId, triggerId, tenantId, ruleId, agentId, actionType },
    ...{ result: recorded, attempts: 0, detail, settledAt: at },
  };
}
