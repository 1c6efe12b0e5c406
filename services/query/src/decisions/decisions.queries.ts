import { DECISIONS_LIST, type DecisionFilter, type DecisionView } from '@agentlens/operations';
import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { type Page, pageOf } from '../http/page.ts';
import { type ReadOnly, TenantReads } from '../http/tenant-reads.ts';
import { decisionFromRow } from '../runs/decision-view.ts';

@Injectable()
export class DecisionsQueries {
  constructor(private readonly reads: TenantReads) {}

  async list(tenantId: string, filter: DecisionFilter): Promise<Page<DecisionView>> {
    const rows = await this.reads.read(tenantId, (db) => pageRows(db, tenantId, filter));
    const positionOf = (row: { decided_at: string; decision_id: string }) => ({
      at: row.decided_at,
      id: row.decision_id,
    });
    return pageOf(DECISIONS_LIST, rows, filter.limit, positionOf, decisionFromRow);
  }
}

function pageRows(db: ReadOnly, tenantId: string, filter: DecisionFilter) {
  let query = db.selectFrom('decisions').selectAll().where('tenant_id', '=', tenantId);
  if (filter.agentId !== undefined) query = query.where('agent_id', '=', filter.agentId);
  if (filter.runId !== undefined) query = query.where('run_id', '=', filter.runId);
  if (filter.toolName !== undefined) query = query.where('tool_name', '=', filter.toolName);
  if (filter.phase !== undefined) query = query.where('phase', 'in', filter.phase);
  if (filter.verdict !== undefined) query = query.where('verdict', 'in', filter.verdict);
  if (filter.effect !== undefined) query = query.where('effect', 'in', filter.effect);
  if (filter.inputsDigest !== undefined) query = query.where('inputs_digest', '=', filter.inputsDigest);
  if (filter.from !== undefined) query = query.where('decided_at', '>=', filter.from);
  if (filter.to !== undefined) query = query.where('decided_at', '<=', filter.to);
  if (filter.ruleId !== undefined) query = query.where(matchedBy(filter.ruleId));
  if (filter.cursor !== undefined) {
    query = query.where(
      sql<boolean>`(decided_at, decision_id) < (${filter.cursor.at}::timestamptz, ${filter.cursor.id})`,
    );
  }
  return query
    .orderBy('decided_at', 'desc')
    .orderBy('decision_id', 'desc')
    .limit(filter.limit + 1)
    .offset(filter.offset)
    .execute();
}

function matchedBy(ruleId: string) {
  return sql<boolean>`evaluated_rules @> ${JSON.stringify([{ ruleId, matched: true }])}::jsonb`;
}
