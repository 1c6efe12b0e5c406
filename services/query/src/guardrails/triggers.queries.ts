import type { GuardrailTriggersTable } from '@agentlens/database';
import { HISTORY_LIST, type HistoryFilter, type Total, type TriggerView, withEnds } from '@agentlens/operations';
import { type Clock, port } from '@agentlens/platform';
import { Inject, Injectable } from '@nestjs/common';
import { type Selectable, sql } from 'kysely';
import { type Page, pageOf, totalOf } from '../http/page.ts';
import { type ReadOnly, TenantReads } from '../http/tenant-reads.ts';

const ATTEMPTED: readonly string[] = ['success', 'failed', 'retrying'];

export function triggerFromRow(row: Selectable<GuardrailTriggersTable>): TriggerView {
  return {
    id: row.trigger_id,
    ruleId: row.rule_id,
    tenantId: row.tenant_id,
    triggeredAt: row.triggered_at,
    conditionValue: row.condition_value,
    conditionThreshold: row.condition_threshold,
    ...(row.comparison === null ? {} : { comparison: row.comparison }),
    actionExecuted: ATTEMPTED.includes(row.action_result),
    actionResult: row.action_result,
    ...(row.action_detail === null ? {} : { actionDetail: row.action_detail }),
    ...(row.settled_at === null ? {} : { settledAt: row.settled_at }),
    metadata: {
      agentId: row.agent_id,
      ...(row.run_id === null ? {} : { sessionId: row.run_id }),
      ...(row.event_id === null ? {} : { eventId: row.event_id }),
      dryRun: row.dry_run,
      message: row.message,
    },
    agentId: row.agent_id,
    ruleName: row.rule_name,
    ruleVersion: row.rule_version,
    conditionType: row.condition_type,
    actionType: row.action_type,
  };
}

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
