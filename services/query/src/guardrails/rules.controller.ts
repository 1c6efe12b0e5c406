import { COMMANDS } from '@agentlens/contracts';
import { describeCatalog } from '@agentlens/guardrails';
import {
  createRule,
  deleteRule,
  getRule,
  getRuleCatalog,
  getRuleStatus,
  listRules,
  updateRule,
} from '@agentlens/operations';
import { type Caller, CurrentCaller, parseOr400, SECRET_BOX, type SecretBox, Serves } from '@agentlens/platform';
import { Body, Controller, Inject, Param, Query } from '@nestjs/common';
import { Commands } from '../http/commands.ts';
import { foundOr404 } from '../http/found-or-404.ts';

import { RuleStateQueries } from './rule-state.queries.ts';
import { masked } from './rule-view.ts';
import { RulesQueries } from './rules.queries.ts';
import { TriggersQueries } from './triggers.queries.ts';

const RULE = 'Guardrail rule';
const RECENT_TRIGGERS = 10;

@Controller()
export class RulesController {
  constructor(
    private readonly rules: RulesQueries,
    private readonly states: RuleStateQueries,
    private readonly triggers: TriggersQueries,
    private readonly commands: Commands,
    @Inject(SECRET_BOX) private readonly secrets: SecretBox,
  ) {}

  @Serves(createRule)
  async create(@CurrentCaller() caller: Caller, @Body() body: unknown) {
    const rule = await this.commands.forward(COMMANDS.createRule, { tenantId: caller.tenantId, body: body ?? null });
    return masked(rule, this.secrets);
  }

  @Serves(listRules)
  async list(@CurrentCaller() caller: Caller, @Query() query: unknown) {
    const { items, ...page } = await this.rules.list(caller.tenantId, parseOr400(listRules.query, query));
    return { rules: items, ...page };
  }

  @Serves(getRuleCatalog)
  catalog() {
    return describeCatalog();
  }

  @Serves(getRule)
  async get(@CurrentCaller() caller: Caller, @Param() params: unknown) {
    const { id } = parseOr400(getRule.params, params);
    return foundOr404(RULE, await this.rules.get(caller.tenantId, id));
  }

  @Serves(updateRule)
  async update(@CurrentCaller() caller: Caller, @Param() params: unknown, @Body() body: unknown) {
    const { id: ruleId } = parseOr400(updateRule.params, params);
    const question = { tenantId: caller.tenantId, ruleId, body: body ?? null };
    return masked(await this.commands.forward(COMMANDS.updateRule, question), this.secrets);
  }

  @Serves(deleteRule)
  async delete(@CurrentCaller() caller: Caller, @Param() params: unknown) {
    const { id: ruleId } = parseOr400(deleteRule.params, params);
    return this.commands.forward(COMMANDS.deleteRule, { tenantId: caller.tenantId, ruleId });
  }

  @Serves(getRuleStatus)
  async status(@CurrentCaller() caller: Caller, @Param() params: unknown) {
    const { id: ruleId } = parseOr400(getRuleStatus.params, params);
    const { tenantId } = caller;
    const rule = foundOr404(RULE, await this.rules.get(tenantId, ruleId));
    const { state, agents } = await this.states.of(tenantId, ruleId);
    const { items } = await this.triggers.list(tenantId, { ruleId, limit: RECENT_TRIGGERS, offset: 0 });
    return { rule, state, agents, recentTriggers: items };
  }
}
