import { driftFromRow } from '@agentlens/database';
import type { ManagedRule, RulesetSummary } from '@agentlens/operations';
import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { type ReadOnly, TenantReads } from '../http/tenant-reads.ts';

@Injectable()
export class RulesetsQueries {
  constructor(private readonly reads: TenantReads) {}

  list(tenantId: string): Promise<RulesetSummary[]> {
    return this.reads.read(tenantId, async (db) => {
      const { rows } = await sql<RulesetSummary>`
        select ruleset as name, count(*)::integer as rules,
          (count(*) filter (where version is distinct from applied_version))::integer as drifted
        from guardrail_rules
        where tenant_id = ${tenantId} and ruleset is not null and deleted_at is null
        group by ruleset order by ruleset
      `.execute(db);
      return rows;
    });
  }

  /** Returns an empty list if the ruleset does not exist. */
  rulesOf(tenantId: string, ruleset: string): Promise<ManagedRule[]> {
    return this.reads.read(tenantId, async (db) => {
      const rules = await managedRules(db, tenantId, ruleset);
      const drift = await driftOf(db, tenantId, ruleset);
      return rules.map(({ rule_id: ruleId, key, name, version, applied_version }) => ({
        ...{ key: key ?? '', ruleId, name, version, appliedVersion: applied_version ?? 0 },
        drift: drift.filter((row) => row.rule_id === ruleId).map(driftFromRow),
      }));
    });
  }
}

function managedRules(db: ReadOnly, tenantId: string, ruleset: string) {
  return db
    .selectFrom('guardrail_rules')
    .select(['rule_id', 'key', 'name', 'version', 'applied_version'])
    .where('tenant_id', '=', tenantId)
    .where('ruleset', '=', ruleset)
    .where('deleted_at', 'is', null)
    .orderBy('key')
    .execute();
}

function driftOf(db: ReadOnly, tenantId: string, ruleset: string) {
  return db
    .selectFrom('rule_versions')
    .innerJoin('guardrail_rules', (join) =>
      join
        .onRef('guardrail_rules.tenant_id', '=', 'rule_versions.tenant_id')
        .onRef('guardrail_rules.rule_id', '=', 'rule_versions.rule_id')
        .onRef('guardrail_rules.applied_version', '<', 'rule_versions.version'),
    )
    .selectAll('rule_versions')
    .where('guardrail_rules.tenant_id', '=', tenantId)
    .where('guardrail_rules.ruleset', '=', ruleset)
    .where('guardrail_rules.deleted_at', 'is', null)
    .orderBy('rule_versions.version')
    .execute();
}
