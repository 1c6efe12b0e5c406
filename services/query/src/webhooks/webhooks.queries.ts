import { webhookFromRow } from '@agentlens/database';
import type { WebhookView } from '@agentlens/operations';
import { Injectable } from '@nestjs/common';
import { type ReadOnly, TenantReads } from '../http/tenant-reads.ts';

@Injectable()
export class WebhooksQueries {
  constructor(private readonly reads: TenantReads) {}

  async list(tenantId: string): Promise<WebhookView[]> {
    const rows = await this.reads.read(tenantId, (db) => endpoints(db, tenantId).orderBy('w.webhook_id').execute());
    return rows.map(viewOf);
  }

  async get(tenantId: string, webhookId: string): Promise<WebhookView | undefined> {
    const row = await this.reads.read(tenantId, (db) =>
      endpoints(db, tenantId).where('w.webhook_id', '=', webhookId).executeTakeFirst(),
    );
    return row && viewOf(row);
  }
}

/** All columns except the secret. */
function endpoints(db: ReadOnly, tenantId: string) {
  return db
    .selectFrom('webhook_endpoints as w')
    .leftJoin('destinations as d', (join) =>
      join
        .onRef('d.tenant_id', '=', 'w.tenant_id')
        .onRef('d.destination', '=', 'w.destination')
        .on('d.disabled_at', 'is not', null),
    )
    .select([
      ...(['w.tenant_id', 'w.webhook_id', 'w.name', 'w.url', 'w.destination', 'w.events', 'w.format'] as const),
      ...(['w.enabled', 'w.version', 'w.created_at', 'w.updated_at', 'd.disabled_reason'] as const),
    ])
    .where('w.tenant_id', '=', tenantId);
}

type Row = Awaited<ReturnType<ReturnType<typeof endpoints>['execute']>>[number];

function viewOf(row: Row): WebhookView {
  const { disabled_reason: reason } = row;
  return { ...webhookFromRow(row), ...(reason === null ? {} : { disabledReason: reason }) };
}
