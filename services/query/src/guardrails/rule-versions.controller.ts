import { COMMANDS } from '@agentlens/contracts';
import { getRuleVersion, listRuleVersions, type RequestOf, revertRule } from '@agentlens/operations';
import { type Caller, CurrentCaller, FromRequest, port, type SecretBox, Serves } from '@agentlens/platform';
import { Controller, Inject } from '@nestjs/common';
import { Commands } from '../http/commands.ts';
import { foundOr404 } from '../http/tenant-reads.ts';
import { KeyNames } from '../keys/key-names.ts';
import { RuleVersionsQueries } from './rule-versions.queries.ts';
import { conditionsOf, masked, RulesQueries } from './rules.queries.ts';

/** Lists the versions of a rule and reverts to one. */
@Controller()
export class RuleVersionsController {
  constructor(
    private readonly versions: RuleVersionsQueries,
    private readonly rules: RulesQueries,
    private readonly commands: Commands,
    private readonly names: KeyNames,
    @Inject(port('secrets')) private readonly secrets: SecretBox,
  ) {}

  @Serves(listRuleVersions)
  async list(
    @CurrentCaller() { tenantId }: Caller,
    @FromRequest() { params: { id }, query }: RequestOf<typeof listRuleVersions>,
  ) {
    foundOr404('Guardrail rule', (await this.rules.everExisted(tenantId, id)) || null);
    const { items, ...page } = await this.versions.list(tenantId, id, query);
    return { versions: items, ...page };
  }

  @Serves(getRuleVersion)
  async get(
    @CurrentCaller() { tenantId }: Caller,
    @FromRequest() { params: { id, version } }: RequestOf<typeof getRuleVersion>,
  ) {
    return foundOr404('Version of this rule', await this.versions.get(tenantId, id, version));
  }

  @Serves(revertRule)
  async revert(
    @CurrentCaller() caller: Caller,
    @FromRequest() { params: { id: ruleId }, headers, body }: RequestOf<typeof revertRule>,
  ) {
    const authorship = await this.names.authorOf(caller);
    const question = { tenantId: caller.tenantId, ruleId, ...conditionsOf(headers), ...authorship, ...body };
    return masked(await this.commands.forward(COMMANDS.revertRule, question), this.secrets);
  }
}
