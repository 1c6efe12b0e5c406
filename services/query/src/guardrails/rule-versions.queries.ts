import type { FieldChange, GuardrailRule } from '@agentlens/contracts';
import type { RuleVersionsTable } from '@agentlens/database';
import { type RuleVersionView, type RuleView, VERSIONS_LIST, type VersionsFilter } from '@agentlens/operations';
import { port, type SecretBox } from '@agentlens/platform';
import { Inject, Injectable } from '@nestjs/common';
import type { Selectable } from 'kysely';
import { type Page, pageOf } from '../http/page.ts';
import { type ReadOnly, TenantReads } from '../http/tenant-reads.ts';
import { masked } from './rules.queries.ts';

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
