import { lockUntilEnd, type Tables, type WebhookEndpointsTable } from '@agentlens/database';
import { type Insertable, type Selectable, type Transaction, type Updateable } from 'kysely';

type Tx = Transaction<Tables>;
export type EndpointRow = Selectable<WebhookEndpointsTable>;

/** Serialises creation per tenant, so that the limit is exact. */
export async function lockEndpoints(tx: Tx, tenantId: string): Promise<void> {
  await lockUntilEnd(tx, 'webhooks', tenantId);
}

export async function countEndpoints(tx: Tx, tenantId: string): Promise<number> {
  const { count } = await tx
    .selectFrom('webhook_endpoints')
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .where('tenant_id', '=', tenantId)
    .executeTakeFirstOrThrow();
  return Number(count);
}

export async function insertEndpoint(tx: Tx, row: Insertable<WebhookEndpointsTable>): Promise<void> {
  await tx.insertInto('webhook_endpoints').values(row).execute();
}

export function lockEndpoint(tx: Tx, tenantId: string, webhookId: string): Promise<EndpointRow | undefined> {
  return tx
    .selectFrom('webhook_endpoints')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .where('webhook_id', '=', webhookId)
    .forUpdate()
    .executeTakeFirst();
}

export function updateEndpoint(
  tx: Tx,
  { tenant_id, webhook_id }: EndpointRow,
  change: Updateable<WebhookEndpointsTable>,
): Promise<EndpointRow> {
  return tx
    .updateTable('webhook_endpoints')
    .set(change)
    .where('tenant_id', '=', tenant_id)
    .where('webhook_id', '=', webhook_id)
    .returningAll()
    .executeTakeFirstOrThrow();
}

export async function deleteEndpoint(tx: Tx, { tenant_id, webhook_id }: EndpointRow): Promise<void> {
  await tx
    .deleteFrom('webhook_endpoints')
    .where('tenant_id', '=', tenant_id)
    .where('webhook_id', '=', webhook_id)
    .execute();
}

/** Gives up pending deliveries. A running attempt loses its lease, so its result is ignored. */
export async function endDeliveries(
  tx: Tx,
  { tenant_id, webhook_id }: EndpointRow,
  detail: string,
  at: string,
): Promise<void> {
  await tx
    .updateTable('deliveries')
    .set({ result: 'failed', detail, settled_at: at, next_attempt_at: null, lease_id: null, lease_until: null })
    .where('tenant_id', '=', tenant_id)
    .where('webhook_id', '=', webhook_id)
    .where('settled_at', 'is', null)
    .execute();
}

/** Enables a destination that reported that it is gone. */
export async function enableDestination(tx: Tx, { tenant_id, destination }: EndpointRow): Promise<void> {
  await tx
    .updateTable('destinations')
    .set({ disabled_at: null, disabled_reason: null })
    .where('tenant_id', '=', tenant_id)
    .where('destination', '=', destination)
    .execute();
}
