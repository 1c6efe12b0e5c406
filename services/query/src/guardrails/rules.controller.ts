import { COMMANDS } from '@agentlens/contracts';
import { describeCatalog } from '@agentlens/guardrails';
import {
  createRule,
  deleteRule,
  getRule,
  getRuleCatalog,
  getRuleStatus,
  listRules,
  patchRule,
  type RequestOf,
  updateRule,
} from '@agentlens/operations';
import { type Caller, CurrentCaller, FromRequest, port, type SecretBox, Serves } from '@agentlens/platform';
import { Controller, Inject } from '@nestjs/common';
import { Commands } from '../http/commands.ts';
import { foundOr404 } from '../http/tenant-reads.ts';
import { KeyNames } from '../keys/key-names.ts';
import { RuleStateQueries } from './rule-state.queries.ts';
import { conditionsOf, masked, RulesQueries } from './rules.queries.ts';
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
    private readonly names: KeyNames,
    @Inject(port('secrets')) private readonly secrets: SecretBox,
  ) {}

  @Serves(createRule)
  async create(@CurrentCaller() caller: Caller, @FromRequest() { body }: RequestOf<typeof createRule>) {
    const authorship = await this.names.authorOf(caller);
    const rule = await this.commands.forward(COMMANDS.createRule, { tenantId: caller.tenantId, body, ...authorship });
    return masked(rule, this.secrets);
  }

  @Serves(listRules)
  async list(@CurrentCaller() caller: Caller, @FromRequest() { query }: RequestOf<typeof listRules>) {
    const { items, ...page } = await this.rules.list(caller.tenantId, query);
    return { rules: items, ...page };
  }

  @Serves(getRuleCatalog)
  catalog() {
    return describeCatalog();
  }

  @Serves(getRule)
  async get(@CurrentCaller() caller: Caller, @FromRequest() { params: { id } }: RequestOf<typeof getRule>) {
    return foundOr404(RULE, await this.rules.get(caller.tenantId, id));
  }

  @Serves(updateRule)
  put(@CurrentCaller() caller: Caller, @FromRequest() request: RequestOf<typeof updateRule>) {
    return this.change(caller, request);
  }

  @Serves(patchRule)
  patch(@CurrentCaller() caller: Caller, @FromRequest() request: RequestOf<typeof patchRule>) {
    return this.change(caller, request);
  }

  private async change(caller: Caller, { params: { id: ruleId }, headers, body }: RequestOf<typeof patchRule>) {
    const authorship = await this.names.authorOf(caller);
    const question = { tenantId: caller.tenantId, ruleId, body, ...conditionsOf(headers), ...authorship };
    return masked(await this.commands.forward(COMMANDS.updateRule, question), this.secrets);
  }

  @Serves(deleteRule)
  async delete(
    @CurrentCaller() caller: Caller,
    @FromRequest() { params: { id: ruleId }, headers }: RequestOf<typeof deleteRule>,
  ) {
    const authorship = await this.names.authorOf(caller);
    const question = { tenantId: caller.tenantId, ruleId, ...conditionsOf(headers), ...authorship };
    return this.commands.forward(COMMANDS.deleteRule, question);
  }

  @Serves(getRuleStatus)
  async status(
    @CurrentCaller() caller: Caller,
    @FromRequest() { params: { id: ruleId } }: RequestOf<typeof getRuleStatus>,
  ) {
    const { tenantId } = caller;
    const rule = foundOr404(RULE, await this.rules.get(tenantId, ruleId));
    const { state, agents } = await this.states.of(tenantId, ruleId);
    const { items } = await this.triggers.list(tenantId, { ruleId, limit: RECENT_TRIGGERS, offset: 0 });
    const days = await this.states.days(tenantId, ruleId);
    return { rule, state, agents, recentTriggers: items, days };
  }
}
