import type { JsonObject, Trigger } from '@agentlens/contracts';
import type { Destination } from '../destinations/destinations.ts';

/** A delivery this process holds the lease of. */
export interface ClaimedDelivery {
  readonly tenantId: string;
  readonly deliveryId: string;
  readonly triggerId: string;
  readonly triggeredAt: string;
  readonly ruleId: string;
  readonly agentId: string;
  readonly leaseId: string;
  /** Attempts made so far. */
  readonly attempts: number;
  readonly createdAt: string;
  readonly actionType: string;
  /** Secrets inside are sealed. */
  readonly actionConfig: JsonObject;
  readonly destination: Destination | null;
  /** The webhook endpoint it tells; null: a rule's action, or the webhook of its alert. */
  readonly webhookId: string | null;
  /** Why nothing may be sent to its destination any more, as it stood when this was claimed; null where it may. */
  readonly disabled: string | null;
  readonly traceparent: string | null;
  /** Null where its history row was dropped by retention. */
  readonly trigger: Trigger | null;
}

/** `internal` changes our own state, `outbound` calls somebody: a pause never queues behind slow webhooks. */
export type Lane = 'internal' | 'outbound';

export function laneOf({ destination }: Pick<ClaimedDelivery, 'destination'>): Lane {
  return destination === null ? 'internal' : 'outbound';
}
