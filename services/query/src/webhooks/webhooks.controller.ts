import { COMMANDS } from '@agentlens/contracts';
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
} from '@agentlens/operations';
import { type Caller, CurrentCaller, FromRequest, Serves } from '@agentlens/platform';
import { Controller } from '@nestjs/common';
import { DeliveriesQueries } from '../guardrails/deliveries.queries.ts';
import { Commands } from '../http/commands.ts';
import { foundOr404 } from '../http/found-or-404.ts';
import { KeyNames } from '../keys/key-names.ts';
import { WebhooksQueries } from './webhooks.queries.ts';

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
