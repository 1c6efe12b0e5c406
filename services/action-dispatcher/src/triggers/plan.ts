import { type DeliverySettled, derivedId, type Trigger } from '@agentlens/contracts';
import type { ClaimedDelivery } from '../deliveries/claimed-delivery.ts';
import { addressOf } from '../destinations/destination.ts';
import type { Action, Entry } from './triggers.repository.ts';

/** A trigger as it arrived. */
export interface TriggerArrival {
  readonly trigger: Trigger;
  /** W3C trace context of what published it. */
  readonly traceparent?: string | undefined;
}

type Occupant = Pick<ClaimedDelivery, 'tenantId' | 'destination'>;

/** Takes deliveries the moment they are recorded, so that nobody has to look for them. */
export interface DirectIntake {
  readonly leaseMs: number;
  /** False where this delivery has to wait in the table. A place that was given is begun or given back. */
  reserve(delivery: Occupant): boolean;
  begin(deliveries: readonly ClaimedDelivery[]): void;
  giveBack(deliveries: readonly Occupant[]): void;
  /** There are new deliveries in the table. */
  wake(): void;
}

export interface Lease {
  readonly id: string;
  readonly until: string;
  readonly reserve: DirectIntake['reserve'];
}

/** What is to be written about a trigger, and what to answer and to carry out once it is. */
export interface DispatchPlan extends Entry {
  readonly recorded: 'queued' | 'begun' | 'dry_run' | 'cooldown' | 'failed';
  readonly claimed?: ClaimedDelivery;
}

interface Fate {
  readonly arrival: TriggerArrival;
  readonly cooling: 'effective' | 'cooldown';
  /**
   * The rule's action as it stands now: a rule may have been changed or deleted since it fired (deleted rules stay
   * readable), and this is what its owner last asked for. Undefined where nobody knows the rule.
   */
  readonly action: Action | undefined;
  readonly at: string;
  readonly lease: Lease;
}

export function planOf({ arrival: { trigger, traceparent }, cooling, action, at, lease }: Fate): DispatchPlan {
  const deliveryId = derivedId(Date.parse(trigger.triggeredAt), trigger.tenantId, trigger.id, 'delivery');
  const effective = cooling === 'effective';
  if (!effective || trigger.dryRun || action === undefined) {
    const recorded = !effective ? 'cooldown' : trigger.dryRun ? 'dry_run' : 'failed';
    const detail = recorded === 'failed' ? 'the rule is not known, so its action is not either' : undefined;
    const fact = settledAtOnce(trigger, { recorded, detail, deliveryId, at });
    return { trigger, result: recorded, effective, recorded, fact, ...(detail === undefined ? {} : { detail }) };
  }
  const { tenantId } = trigger;
  const id = addressOf(action.type, action.config)?.id ?? null;
  const destination = id === null ? null : { tenantId, id };
  const delivery = { deliveryId, action, destination: id, traceparent: traceparent ?? null };
  const plan = { trigger, result: 'pending', effective } as const;
  if (!lease.reserve({ tenantId, destination })) {
    return { ...plan, delivery: { ...delivery, lease: null }, recorded: 'queued' };
  }
  const claimed: ClaimedDelivery = {
    tenantId,
    deliveryId,
    triggerId: trigger.id,
    triggeredAt: trigger.triggeredAt,
    ruleId: trigger.ruleId,
    agentId: trigger.agentId,
    leaseId: lease.id,
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
    delivery: { ...delivery, lease: { id: lease.id, until: lease.until } },
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
