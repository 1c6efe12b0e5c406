import { COMMANDS } from '@agentlens/contracts';
import {
  getDelivery,
  listDeliveries,
  listRuleActions,
  listTriggers,
  type RequestOf,
  redeliver,
  type TriggerView,
} from '@agentlens/operations';
import { type Caller, CurrentCaller, FromRequest, Serves } from '@agentlens/platform';
import { Controller } from '@nestjs/common';
import { Commands } from '../http/commands.ts';
import { foundOr404 } from '../http/tenant-reads.ts';
import { KeyNames } from '../keys/key-names.ts';
import { DeliveriesQueries } from './deliveries.queries.ts';
import { RulesQueries } from './rules.queries.ts';
import { TriggersQueries } from './triggers.queries.ts';

@Controller()
export class TriggersController {
  constructor(
    private readonly triggers: TriggersQueries,
    private readonly rules: RulesQueries,
  ) {}

  @Serves(listTriggers)
  async history(@CurrentCaller() caller: Caller, @FromRequest() { query }: RequestOf<typeof listTriggers>) {
    const { items, ...page } = await this.triggers.list(caller.tenantId, query);
    return { triggers: items, ...page };
  }

  @Serves(listRuleActions)
  async actions(
    @CurrentCaller() caller: Caller,
    @FromRequest() { params: { id: ruleId }, query }: RequestOf<typeof listRuleActions>,
  ) {
    foundOr404('Guardrail rule', (await this.rules.everExisted(caller.tenantId, ruleId)) || null);
    const { items, ...page } = await this.triggers.list(caller.tenantId, { ruleId, ...query });
    return { actions: items.map(actionOf), ...page };
  }
}

function actionOf(trigger: TriggerView) {
  const { id, ruleId, triggeredAt, actionType, actionResult, actionDetail, metadata } = trigger;
  return { id, ruleId, triggeredAt, actionType, actionResult, ...(actionDetail ? { actionDetail } : {}), metadata };
}

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
