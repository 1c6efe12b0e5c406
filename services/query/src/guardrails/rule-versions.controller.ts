import { COMMANDS, type FieldChange, type GuardrailRule } from '@agentlens/contracts';
import type { RuleVersionsTable } from '@agentlens/database';
import {
  getRuleVersion,
  listRuleVersions,
  type RequestOf,
  type RuleVersionView,
  type RuleView,
  revertRule,
  VERSIONS_LIST,
  type VersionsFilter,
} from '@agentlens/operations';
import { type Caller, CurrentCaller, FromRequest, port, type SecretBox, Serves } from '@agentlens/platform';
import { Controller, Inject, Injectable } from '@nestjs/common';
import type { Selectable } from 'kysely';
import { Commands } from '../http/commands.ts';
import { type Page, pageOf } from '../http/page.ts';
import { foundOr404, type ReadOnly, TenantReads } from '../http/tenant-reads.ts';
import { KeyNames } from '../keys/key-names.ts';
import { conditionsOf, masked, RulesQueries } from './rules.queries.ts';

type Row = Selectable<RuleVersionsTable>;

@Injectable()
export class RuleVersionsQueries {
  constructor(
    private readonly reads: TenantReads,
    @Inject(port('secrets')) private readonly secrets: SecretBox,
  ) {}

  async list(tenantId: string, ruleId: string, filter: VersionsFilter): Promise<Page<RuleVersionView>> {
    const rows = await this.reads.read(tenantId, (db) => {
      let query = versionsOf(db, tenantId, ruleId).selectAll();
      if (filter.cursor !== undefined) query = query.where('version', '<', Number(filter.cursor.id));
      return query
        .orderBy('version', 'desc')
        .limit(filter.limit + 1)
        .offset(filter.offset)
        .execute();
    });
    const positionOf = (row: Row) => ({ at: row.changed_at, id: String(row.version) });
    return pageOf(VERSIONS_LIST, rows, filter.limit, positionOf, versionFromRow);
  }

  async get(
    tenantId: string,
    ruleId: string,
    version: number,
  ): Promise<(RuleVersionView & { readonly rule: RuleView }) | undefined> {
    const row = await this.reads.read(tenantId, (db) =>
      versionsOf(db, tenantId, ruleId).selectAll().where('version', '=', version).executeTakeFirst(),
    );
    if (row === undefined) return undefined;
    return { ...versionFromRow(row), rule: masked(row.body as unknown as GuardrailRule, this.secrets) };
  }
}

function versionsOf(db: ReadOnly, tenantId: string, ruleId: string) {
  return db.selectFrom('rule_versions').where('tenant_id', '=', tenantId).where('rule_id', '=', ruleId);
}

function versionFromRow(row: Row): RuleVersionView {
  return {
    ruleId: row.rule_id,
    version: row.version,
    changedAt: row.changed_at,
    ...(row.changed_by === null ? {} : { changedBy: row.changed_by }),
    source: row.source,
    ...(row.reason === null ? {} : { reason: row.reason }),
    deleted: row.deleted,
    changes: row.changes as FieldChange[],
  };
}

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
