import { COMMANDS } from '@agentlens/contracts';
import { webhookFromRow } from '@agentlens/database';
import {
  createWebhook,
  deleteWebhook,
  getWebhook,
  listWebhookDeliveries,
  listWebhooks,
  type RequestOf,
  rotateWebhookSecret,
  testWebhook,
  updateWebhook,
  WEBHOOK_DELIVERIES_LIST,
  type WebhookView,
} from '@agentlens/operations';
import { type Caller, CurrentCaller, FromRequest, Serves } from '@agentlens/platform';
import { Controller, Injectable } from '@nestjs/common';
import { DeliveriesQueries } from '../guardrails/deliveries.queries.ts';
import { Commands } from '../http/commands.ts';
import { foundOr404, type ReadOnly, TenantReads } from '../http/tenant-reads.ts';
import { KeyNames } from '../keys/key-names.ts';

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

const WEBHOOK = 'Webhook';

@Controller()
export class WebhooksController {
  constructor(
    private readonly webhooks: WebhooksQueries,
    private readonly deliveries: DeliveriesQueries,
    private readonly commands: Commands,
    private readonly names: KeyNames,
  ) {}

  @Serves(createWebhook)
  async create(@CurrentCaller() caller: Caller, @FromRequest() { body: draft }: RequestOf<typeof createWebhook>) {
    const { author } = await this.names.authorOf(caller);
    return this.commands.forward(COMMANDS.createWebhook, { tenantId: caller.tenantId, draft, author });
  }

  @Serves(listWebhooks)
  async list(@CurrentCaller() { tenantId }: Caller) {
    return { webhooks: await this.webhooks.list(tenantId) };
  }

  @Serves(getWebhook)
  async get(@CurrentCaller() { tenantId }: Caller, @FromRequest() { params }: RequestOf<typeof getWebhook>) {
    return foundOr404(WEBHOOK, await this.webhooks.get(tenantId, params.id));
  }

  @Serves(updateWebhook)
  async update(
    @CurrentCaller() caller: Caller,
    @FromRequest() { params, headers, body }: RequestOf<typeof updateWebhook>,
  ) {
    const which = await this.of(caller, params.id, headers);
    return this.commands.forward(COMMANDS.updateWebhook, { ...which, patch: body });
  }

  @Serves(deleteWebhook)
  async delete(@CurrentCaller() caller: Caller, @FromRequest() { params, headers }: RequestOf<typeof deleteWebhook>) {
    return this.commands.forward(COMMANDS.deleteWebhook, await this.of(caller, params.id, headers));
  }

  @Serves(rotateWebhookSecret)
  async rotate(
    @CurrentCaller() caller: Caller,
    @FromRequest() { params, headers }: RequestOf<typeof rotateWebhookSecret>,
  ) {
    return this.commands.forward(COMMANDS.rotateWebhookSecret, await this.of(caller, params.id, headers));
  }

  @Serves(testWebhook)
  test(@CurrentCaller() { tenantId }: Caller, @FromRequest() { params }: RequestOf<typeof testWebhook>) {
    return this.commands.forward(COMMANDS.testWebhook, { tenantId, webhookId: params.id });
  }

  @Serves(listWebhookDeliveries)
  async deliveriesOf(
    @CurrentCaller() { tenantId }: Caller,
    @FromRequest() { params: { id: webhookId }, query }: RequestOf<typeof listWebhookDeliveries>,
  ) {
    foundOr404(WEBHOOK, await this.webhooks.get(tenantId, webhookId));
    const { items, ...page } = await this.deliveries.list(tenantId, { ...query, webhookId }, WEBHOOK_DELIVERIES_LIST);
    return { deliveries: items, ...page };
  }

  private async of(caller: Caller, webhookId: string, headers: { readonly 'if-match'?: number | undefined }) {
    const { author } = await this.names.authorOf(caller);
    return { tenantId: caller.tenantId, webhookId, author, ifVersion: headers['if-match'] };
  }
}
