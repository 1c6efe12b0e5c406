import { COMMANDS } from '@agentlens/contracts';
import {
  applyRuleset,
  getRuleset,
  listRulesets,
  planRuleset,
  type RequestOf,
  releaseRuleset,
} from '@agentlens/operations';
import { type Caller, CurrentCaller, FromRequest, Serves } from '@agentlens/platform';
import { Controller } from '@nestjs/common';
import { Commands } from '../http/commands.ts';
import { foundOr404 } from '../http/tenant-reads.ts';
import { KeyNames } from '../keys/key-names.ts';
import { RulesetsQueries } from './rulesets.queries.ts';

/** Rules that are managed from files. */
@Controller()
export class RulesetsController {
  constructor(
    private readonly rulesets: RulesetsQueries,
    private readonly commands: Commands,
    private readonly names: KeyNames,
  ) {}

  @Serves(listRulesets)
  async list(@CurrentCaller() { tenantId }: Caller) {
    return { rulesets: await this.rulesets.list(tenantId) };
  }

  @Serves(getRuleset)
  async get(@CurrentCaller() { tenantId }: Caller, @FromRequest() { params: { name } }: RequestOf<typeof getRuleset>) {
    const rules = await this.rulesets.rulesOf(tenantId, name);
    return { name, rules: foundOr404('Ruleset', rules.length === 0 ? null : rules) };
  }

  @Serves(planRuleset)
  plan(
    @CurrentCaller() { tenantId }: Caller,
    @FromRequest() { params: { name: ruleset }, body }: RequestOf<typeof planRuleset>,
  ) {
    return this.commands.forward(COMMANDS.planRuleset, { tenantId, ruleset, body });
  }

  @Serves(applyRuleset)
  async apply(
    @CurrentCaller() caller: Caller,
    @FromRequest() { params: { name: ruleset }, body }: RequestOf<typeof applyRuleset>,
  ) {
    const authorship = await this.names.authorOf(caller);
    return this.commands.forward(COMMANDS.applyRuleset, { tenantId: caller.tenantId, ruleset, body, ...authorship });
  }

  @Serves(releaseRuleset)
  async release(
    @CurrentCaller() caller: Caller,
    @FromRequest() { params: { name: ruleset } }: RequestOf<typeof releaseRuleset>,
  ) {
    const authorship = await this.names.authorOf(caller);
    return this.commands.forward(COMMANDS.releaseRuleset, { tenantId: caller.tenantId, ruleset, ...authorship });
  }
}
