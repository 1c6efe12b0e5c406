import { derivedId } from '@agentlens/contracts';
import type { Tables, WebhookEndpointsTable } from '@agentlens/database';
import type { Selectable, Transaction } from 'kysely';
import { ENDPOINT_WEBHOOK } from './webhook-config.ts';
import type { WebhookNotice } from './webhook-notice.ts';

const OF_ENDPOINT = [
  ...(['tenant_id', 'webhook_id', 'url', 'destination', 'events', 'format'] as const),
  ...(['secret', 'created_at', 'listens_since'] as const),
] as const;

type Endpoint = Pick<Selectable<WebhookEndpointsTable>, (typeof OF_ENDPOINT)[number]>;

/**
 * Queues a delivery for each listening endpoint, in the transaction of the event. Skips endpoints that did not listen
 * yet. Idempotent.
 *
 * @param at now
 * @returns how many were queued
 */
export async function queueWebhooks(
  tx: Transaction<Tables>,
  notices: readonly WebhookNotice[],
  at: string,
): Promise<number> {
  if (notices.length === 0) return 0;
  const endpoints = Map.groupBy(await enabledOf(tx, notices), ({ tenant_id }) => tenant_id);
  const rows = notices.flatMap((notice) =>
    (endpoints.get(notice.tenantId) ?? [])
      .filter((endpoint) => wants(endpoint, notice))
      .map((endpoint) => deliveryTo(endpoint, notice, at)),
  );
  if (rows.length === 0) return 0;
  const { numInsertedOrUpdatedRows = 0n } = await tx
    .insertInto('deliveries')
    .values(rows)
    .onConflict((conflict) => conflict.doNothing())
    .executeTakeFirstOrThrow();
  return Number(numInsertedOrUpdatedRows);
}

function wants(endpoint: Endpoint, { event, minor, message }: WebhookNotice): boolean {
  const { events, format, created_at, listens_since } = endpoint;
  if (!events.includes(event) || (format === 'slack' && minor === true)) return false;
  return Date.parse(listens_since[event] ?? created_at) <= Date.parse(message.timestamp);
}

/** Queues a message for one endpoint, regardless of what it listens to. @returns the id of the delivery */
export async function queueFor(
  tx: Transaction<Tables>,
  endpoint: Endpoint,
  notice: WebhookNotice,
  at: string,
): Promise<string> {
  const delivery = deliveryTo(endpoint, notice, at);
  await tx.insertInto('deliveries').values(delivery).execute();
  return delivery.delivery_id;
}

function enabledOf(tx: Transaction<Tables>, notices: readonly WebhookNotice[]): Promise<Endpoint[]> {
  return tx
    .selectFrom('webhook_endpoints')
    .select(OF_ENDPOINT)
    .where('tenant_id', 'in', [...new Set(notices.map(({ tenantId }) => tenantId))])
    .where('enabled', '=', true)
    .orderBy('webhook_id')
    .execute();
}

function deliveryTo(endpoint: Endpoint, { tenantId, message, key, since, about }: WebhookNotice, at: string) {
  const { webhook_id, url, destination, format, secret } = endpoint;
  return {
    tenant_id: tenantId,
    delivery_id: derivedId(Date.parse(since ?? message.timestamp), tenantId, webhook_id, message.type, key),
    trigger_id: about.id,
    triggered_at: message.timestamp,
    rule_id: about.ruleId,
    agent_id: about.agentId,
    action_type: ENDPOINT_WEBHOOK,
    // The secret stays sealed for this endpoint.
    action_config: JSON.stringify({ url, format, secret, message }),
    destination,
    webhook_id,
    traceparent: null,
    result: 'pending' as const,
    next_attempt_at: at,
    lease_until: null,
    lease_id: null,
    detail: null,
    created_at: at,
    settled_at: null,
  };
}
