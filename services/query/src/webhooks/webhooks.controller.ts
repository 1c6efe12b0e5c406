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
import { WebhooksQueries } from './webhooks.queries.ts';

const WEBHOOK = 'Webhook';

@Controller()
export class WebhooksController {
  constructor(
    private readonly webhooks: WebhooksQueries,
    private readonly deliveries: DeliveriesQueries,
    private readonly commands: Commands,
  ) {}

  @Serves(createWebhook)
  create(@CurrentCaller() { tenantId }: Caller, @FromRequest() { body: draft }: RequestOf<typeof createWebhook>) {
    return this.commands.forward(COMMANDS.createWebhook, { tenantId, draft });
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
  update(@CurrentCaller() { tenantId }: Caller, @FromRequest() { params, body }: RequestOf<typeof updateWebhook>) {
    return this.commands.forward(COMMANDS.updateWebhook, { tenantId, webhookId: params.id, patch: body });
  }

  @Serves(deleteWebhook)
  delete(@CurrentCaller() { tenantId }: Caller, @FromRequest() { params }: RequestOf<typeof deleteWebhook>) {
    return this.commands.forward(COMMANDS.deleteWebhook, { tenantId, webhookId: params.id });
  }

  @Serves(rotateWebhookSecret)
  rotate(@CurrentCaller() { tenantId }: Caller, @FromRequest() { params }: RequestOf<typeof rotateWebhookSecret>) {
    return this.commands.forward(COMMANDS.rotateWebhookSecret, { tenantId, webhookId: params.id });
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
}
