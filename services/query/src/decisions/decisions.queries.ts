import { DECISIONS_LIST, type DecisionFilter, type DecisionView, withEnds } from '@agentlens/operations';
import { type Clock, port } from '@agentlens/platform';
import { Inject, Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { type Page, pageOf } from '../http/page.ts';
import { type ReadOnly, TenantReads } from '../http/tenant-reads.ts';
import { decisionFromRow, selectDecisions } from '../runs/decision-view.ts';

@Injectable()
export class DecisionsQueries {
  constructor(
    private readonly reads: TenantReads,
    @Inject(port('clock')) private readonly clock: Clock,
  ) {}

  async list(tenantId: string, filter: DecisionFilter): Promise<Page<DecisionView>> {
    const rows = await this.reads.read(tenantId, (db) => pageRows(db, tenantId, withEnds(filter, this.clock.now())));
    const positionOf = (row: { decided_at: string; decision_id: string }) => ({
      at: row.decided_at,
      id: row.decision_id,
    });
    return pageOf(DECISIONS_LIST, rows, filter.limit, positionOf, decisionFromRow);
  }
}

function pageRows(db: ReadOnly, tenantId: string, filter: DecisionFilter) {
  let query = selectDecisions(db, tenantId);
  if (filter.agentId !== undefined) query = query.where('agent_id', '=', filter.agentId);
  if (filter.runId !== undefined) query = query.where('run_id', '=', filter.runId);
  if (filter.toolName !== undefined) query = query.where('tool_name', '=', filter.toolName);
  if (filter.phase !== undefined) query = query.where('phase', 'in', filter.phase);
  if (filter.verdict !== undefined) query = query.where('verdict', 'in', filter.verdict);
  if (filter.effect !== undefined) query = query.where('effect', 'in', filter.effect);
  if (filter.inputsDigest !== undefined) query = query.where('inputs_digest', '=', filter.inputsDigest);
  if (filter.from !== undefined) query = query.where('decided_at', '>=', filter.from);
  if (filter.to !== undefined) query = query.where('decided_at', '<=', filter.to);
  if (filter.reason !== undefined) query = query.where('reason', 'in', filter.reason);
  if (filter.budgetId !== undefined) query = query.where('budget_id', '=', filter.budgetId);
  if (filter.wouldHave !== undefined) query = query.where('would_have', 'in', filter.wouldHave);
  if (filter.ruleId !== undefined || filter.mode !== undefined) query = query.where(matchedBy(filter));
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

/** JSON leaves undefined members out, so an undefined filter matches everything. */
function matchedBy({ ruleId, mode }: DecisionFilter) {
  return sql<boolean>`evaluated_rules @> ${JSON.stringify([{ ruleId, mode, matched: true }])}::jsonb`;
}
