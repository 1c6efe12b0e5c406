import { COMMANDS } from '@agentlens/contracts';
import { getDelivery, listDeliveries, type RequestOf, redeliver } from '@agentlens/operations';
import { type Caller, CurrentCaller, FromRequest, Serves } from '@agentlens/platform';
import { Controller } from '@nestjs/common';
import { Commands } from '../http/commands.ts';
import { foundOr404 } from '../http/found-or-404.ts';
import { KeyNames } from '../keys/key-names.ts';
import { DeliveriesQueries } from './deliveries.queries.ts';

@Controller()
export class DeliveriesController {
  constructor(
    private readonly deliveries: DeliveriesQueries,
    private readonly commands: Commands,
    private readonly names: KeyNames,
  ) {}

  @Serves(listDeliveries)
  async list(@CurrentCaller() caller: Caller, @FromRequest() { query }: RequestOf<typeof listDeliveries>) {
    const { items, ...page } = await this.deliveries.list(caller.tenantId, query);
    return { deliveries: items, ...page };
  }

  @Serves(getDelivery)
  async get(@CurrentCaller() caller: Caller, @FromRequest() { params: { id } }: RequestOf<typeof getDelivery>) {
    return foundOr404('Delivery', await this.deliveries.get(caller.tenantId, id));
  }

  @Serves(redeliver)
  async redeliver(
    @CurrentCaller() caller: Caller,
    @FromRequest() { params: { id: deliveryId } }: RequestOf<typeof redeliver>,
  ) {
    foundOr404('Delivery', (await this.deliveries.exists(caller.tenantId, deliveryId)) || null);
    const { author } = await this.names.authorOf(caller);
    return this.commands.forward(COMMANDS.redeliver, { tenantId: caller.tenantId, deliveryId, author });
  }
}
