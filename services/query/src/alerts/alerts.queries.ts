import { type Alert, ApprovalCall } from '@agentlens/contracts';
import { alertFromRow } from '@agentlens/database';
import { ALERTS_LIST, type AlertFilter, withEnds } from '@agentlens/operations';
import { type Clock, port, type SecretBox } from '@agentlens/platform';
import { Inject, Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { type Page, pageOf } from '../http/page.ts';
import { type ReadOnly, TenantReads } from '../http/tenant-reads.ts';

@Injectable()
export class AlertsQueries {
  constructor(
    private readonly reads: TenantReads,
    @Inject(port('clock')) private readonly clock: Clock,
    @Inject(port('secrets')) private readonly secrets: SecretBox,
  ) {}

  async list(tenantId: string, filter: AlertFilter): Promise<Page<Alert>> {
    const rows = await this.reads.read(tenantId, (db) => pageRows(db, tenantId, withEnds(filter, this.clock.now())));
    return pageOf(ALERTS_LIST, rows, filter.limit, (row) => ({ at: row.created_at, id: row.alert_id }), alertFromRow);
  }

  async get(tenantId: string, alertId: string): Promise<Alert | undefined> {
    const row = await this.reads.read(tenantId, (db) =>
      db
        .selectFrom('alerts')
        .selectAll()
        .where('tenant_id', '=', tenantId)
        .where('alert_id', '=', alertId)
        .executeTakeFirst(),
    );
    return row === undefined ? undefined : alertFromRow(row);
  }

  /** Returns undefined if the alert is not an approval, or was requested by a version that did not store calls. */
  async callOf(tenantId: string, alertId: string): Promise<ApprovalCall | undefined> {
    const row = await this.reads.read(tenantId, (db) =>
      db
        .selectFrom('approval_calls')
        .select('sealed')
        .where('tenant_id', '=', tenantId)
        .where('alert_id', '=', alertId)
        .executeTakeFirst(),
    );
    if (row === undefined) return undefined;
    return ApprovalCall.parse(JSON.parse(this.secrets.open(row.sealed, [tenantId, 'approval_calls', alertId])));
  }
}

function pageRows(db: ReadOnly, tenantId: string, filter: AlertFilter) {
  let query = db.selectFrom('alerts').selectAll().where('tenant_id', '=', tenantId);
  if (filter.status !== undefined) query = query.where('status', 'in', filter.status);
  if (filter.kind !== undefined) query = query.where('kind', 'in', filter.kind);
  if (filter.agentId !== undefined) query = query.where('agent_id', '=', filter.agentId);
  if (filter.runId !== undefined) query = query.where('run_id', '=', filter.runId);
  if (filter.ruleId !== undefined) query = query.where('rule_id', '=', filter.ruleId);
  if (filter.from !== undefined) query = query.where('created_at', '>=', filter.from);
  if (filter.to !== undefined) query = query.where('created_at', '<=', filter.to);
  if (filter.cursor !== undefined) {
    const place = sql`(${filter.cursor.at}::timestamptz, ${filter.cursor.id})`;
    query = query.where(sql<boolean>`(created_at, alert_id) < ${place}`);
  }
  return query
    .orderBy('created_at', 'desc')
    .orderBy('alert_id', 'desc')
    .limit(filter.limit + 1)
    .offset(filter.offset)
    .execute();
}
