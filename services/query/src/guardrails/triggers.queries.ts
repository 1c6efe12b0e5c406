import { HISTORY_LIST, type HistoryFilter, type Total, type TriggerView, withEnds } from '@agentlens/operations';
import { type Clock, port } from '@agentlens/platform';
import { Inject, Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { type Page, pageOf } from '../http/page.ts';
import { type ReadOnly, TenantReads } from '../http/tenant-reads.ts';
import { totalOf } from '../http/total.ts';
import { triggerFromRow } from './trigger-view.ts';

@Injectable()
export class TriggersQueries {
  constructor(
    private readonly reads: TenantReads,
    @Inject(port('clock')) private readonly clock: Clock,
  ) {}

  async list(tenantId: string, asked: HistoryFilter): Promise<Page<TriggerView> & Total> {
    const filter = withEnds(asked, this.clock.now());
    const { rows, total } = await this.reads.read(tenantId, async (db) => ({
      rows: await pageRows(db, tenantId, filter),
      total: await totalOf(db, matching(db, tenantId, filter)),
    }));
    const positionOf = (row: { triggered_at: string; trigger_id: string }) => ({
      at: row.triggered_at,
      id: row.trigger_id,
    });
    return { ...pageOf(HISTORY_LIST, rows, filter.limit, positionOf, triggerFromRow), ...total };
  }
}

function pageRows(db: ReadOnly, tenantId: string, filter: HistoryFilter) {
  let query = matching(db, tenantId, filter).selectAll();
  if (filter.cursor !== undefined) {
    const place = sql`(${filter.cursor.at}::timestamptz, ${filter.cursor.id})`;
    query = query.where(sql<boolean>`(triggered_at, trigger_id) < ${place}`);
  }
  return query
    .orderBy('triggered_at', 'desc')
    .orderBy('trigger_id', 'desc')
    .limit(filter.limit + 1)
    .offset(filter.offset)
    .execute();
}

function matching(db: ReadOnly, tenantId: string, filter: HistoryFilter) {
  let query = db.selectFrom('guardrail_triggers').where('tenant_id', '=', tenantId);
  if (filter.ruleId !== undefined) query = query.where('rule_id', '=', filter.ruleId);
  if (filter.agentId !== undefined) query = query.where('agent_id', '=', filter.agentId);
  if (filter.from !== undefined) query = query.where('triggered_at', '>=', filter.from);
  if (filter.to !== undefined) query = query.where('triggered_at', '<=', filter.to);
  if (filter.result !== undefined) query = query.where('action_result', 'in', filter.result);
  return query;
}
