import { listRuleActions, listTriggers, type RequestOf, type TriggerView } from '@agentlens/operations';
import { type Caller, CurrentCaller, FromRequest, Serves } from '@agentlens/platform';
import { Controller } from '@nestjs/common';
import { foundOr404 } from '../http/found-or-404.ts';
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
