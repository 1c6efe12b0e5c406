import type { JsonObject, Trigger } from '@agentlens/contracts';
import type { Destination } from '../destinations/destinations.ts';

/** A delivery that this process holds the lease of. */
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
  /** Secrets in it are sealed. */
  readonly actionConfig: JsonObject;
  readonly destination: Destination | null;
  /** The webhook endpoint that is notified; null for the action of a rule or the webhook of its alert. */
  readonly webhookId: string | null;
  /** Why the destination was disabled when this was claimed; null if it is enabled. */
  readonly disabled: string | null;
  readonly traceparent: string | null;
  /** For a delivery to a channel: the receipt of the one before it with the same order key. */
  readonly prior?: string | undefined;
  /** Null if retention has removed the trigger. */
  readonly trigger: Trigger | null;
}

/**
 * `internal` changes state of our own, `outbound` sends a request. Separate lanes keep a pause from queueing behind
 * slow webhooks.
 */
export type Lane = 'internal' | 'outbound';

export function laneOf({ destination }: Pick<ClaimedDelivery, 'destination'>): Lane {
  return destination === null ? 'internal' : 'outbound';
}
