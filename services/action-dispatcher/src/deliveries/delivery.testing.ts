import type { ClaimedDelivery } from './claimed-delivery.ts';
import type { Execution } from './execution.ts';

export const AT = '2026-03-01T12:00:00.000Z';

/** The result of a delivery that the receiver accepted. */
export const DELIVERED: Execution = {
  kind: 'settle',
  settlement: {
    at: 0,
    next: { kind: 'settled', result: 'success' },
    detail: null,
    attempt: { started_at: AT, finished_at: AT, outcome: 'delivered', http_status: 200, detail: null, exchange: null },
  },
};

export function aDelivery(deliveryId: string, destination = 'hook'): ClaimedDelivery {
  return {
    ...{ tenantId: 'acme', deliveryId, triggerId: `t-${deliveryId}`, triggeredAt: AT, ruleId: 'r', agentId: 'a' },
    ...{ leaseId: 'lease', attempts: 0, createdAt: AT, actionType: 'notify_webhook', actionConfig: {} },
    ...{ destination: { tenantId: 'acme', id: destination }, webhookId: null },
    ...{ disabled: null, traceparent: null, trigger: null },
  };
}
