import type { WebhookEndpoint, WebhookEvent } from '@agentlens/contracts';
import type { Selectable } from 'kysely';
import type { WebhookEndpointsTable } from '../schema/tables.ts';

/** A webhook endpoint as its row says it, for its writer and its readers; without its secret. */
export function webhookFromRow(
  row: Omit<Selectable<WebhookEndpointsTable>, 'secret' | 'listens_since'>,
): WebhookEndpoint {
  return {
    id: row.webhook_id,
    tenantId: row.tenant_id,
    ...(row.name === null ? {} : { name: row.name }),
    url: row.url,
    // Written from the checked list only.
    events: row.events as WebhookEvent[],
    format: row.format,
    enabled: row.enabled,
    version: row.version,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  };
}
