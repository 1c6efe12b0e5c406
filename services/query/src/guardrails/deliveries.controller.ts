import { COMMANDS } from '@agentlens/contracts';
import { listDeliveries, redeliver } from '@agentlens/operations';
import { type Caller, CurrentCaller, parseOr400, Serves } from '@agentlens/platform';
import { Controller, Param, Query } from '@nestjs/common';
import { Commands } from '../http/commands.ts';
import { foundOr404 } from '../http/found-or-404.ts';
import { DeliveriesQueries } from './deliveries.queries.ts';

@Controller()
export class DeliveriesController {
  constructor(
    private readonly deliveries: DeliveriesQueries,
    private readonly commands: Commands,
  ) {}

  @Serves(listDeliveries)
  async list(@CurrentCaller() caller: Caller, @Query() query: unknown) {
    const { items, ...page } = await this.deliveries.list(caller.tenantId, parseOr400(listDeliveries.query, query));
    return { deliveries: items, ...page };
  }

  @Serves(redeliver)
  async redeliver(@CurrentCaller() caller: Caller, @Param() params: unknown) {
    const { id: deliveryId } = parseOr400(redeliver.params, params);
    foundOr404('Delivery', (await this.deliveries.exists(caller.tenantId, deliveryId)) || null);
    return this.commands.forward(COMMANDS.redeliver, { tenantId: caller.tenantId, deliveryId });
  }
}
