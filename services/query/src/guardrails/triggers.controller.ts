import { listRuleActions, listTriggers, type TriggerView } from '@agentlens/operations';
import { type Caller, CurrentCaller, parseOr400, Serves } from '@agentlens/platform';
import { Controller, Param, Query } from '@nestjs/common';
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
  async history(@CurrentCaller() caller: Caller, @Query() query: unknown) {
    const { items, ...page } = await this.triggers.list(caller.tenantId, parseOr400(listTriggers.query, query));
    return { triggers: items, ...page };
  }

  @Serves(listRuleActions)
  async actions(@CurrentCaller() caller: Caller, @Param() params: unknown, @Query() query: unknown) {
    const { id: ruleId } = parseOr400(listRuleActions.params, params);
    const paging = parseOr400(listRuleActions.query, query);
    foundOr404('Guardrail rule', (await this.rules.everExisted(caller.tenantId, ruleId)) || null);
    const { items, ...page } = await this.triggers.list(caller.tenantId, { ruleId, ...paging });
    return { actions: items.map(actionOf), ...page };
  }
}

function actionOf(trigger: TriggerView) {
  const { id, ruleId, triggeredAt, actionType, actionResult, actionDetail, metadata } = trigger;
  return { id, ruleId, triggeredAt, actionType, actionResult, ...(actionDetail ? { actionDetail } : {}), metadata };
}
