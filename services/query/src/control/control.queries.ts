import type { ControlOrder } from '@agentlens/contracts';
import { type ControlOrdersTable, orderFromRow } from '@agentlens/database';
import { CONTROL_LIST, type ControlFilter } from '@agentlens/operations';
import { Injectable } from '@nestjs/common';
import { type Selectable, sql } from 'kysely';
import { type Page, pageOf } from '../http/page.ts';
import { type ReadOnly, TenantReads } from '../http/tenant-reads.ts';
import { isAddressedTo, type Receipts, receiptsOf } from './receipts.ts';

export interface Acknowledgement {
  readonly agentId: string;
  readonly instanceId: string;
  readonly at: string;
}

type StandingOrder = ControlOrder & Receipts;

@Injectable()
export class ControlQueries {
  constructor(private readonly reads: TenantReads) {}

  async list(tenantId: string, filter: ControlFilter): Promise<Page<StandingOrder>> {
    return this.reads.read(tenantId, async (db) => {
      const rows = await pageRows(db, tenantId, filter);
      const ids = rows.slice(0, filter.limit).map((row) => row.order_id);
      const taken = Map.groupBy(await acknowledgementRows(db, tenantId, ids), (row) => row.directive_id);
      const positionOf = (row: Selectable<ControlOrdersTable>) => ({ at: row.issued_at, id: row.order_id });
      return pageOf(CONTROL_LIST, rows, filter.limit, positionOf, (row) => {
        const order = orderFromRow(row);
        const counted = (taken.get(row.order_id) ?? []).filter((receipt) => isAddressedTo(order, receipt.agent_id));
        return {
          ...order,
          ...receiptsOf(
            row.issued_at,
            counted.map((receipt) => receipt.acknowledged_at),
          ),
        };
      });
    });
  }

  async acknowledgements(order: ControlOrder): Promise<readonly Acknowledgement[]> {
    const { tenantId, id } = order;
    const rows = await this.reads.read(tenantId, (db) => acknowledgementRows(db, tenantId, [id]));
    const counted = rows.filter((row) => isAddressedTo(order, row.agent_id));
    return counted.map((row) => ({ agentId: row.agent_id, instanceId: row.instance_id, at: row.acknowledged_at }));
  }

  async isAgent(tenantId: string, agentId: string): Promise<boolean> {
    const agent = await this.reads.read(tenantId, (db) =>
      db
        .selectFrom('agents')
        .select('agent_id')
        .where('tenant_id', '=', tenantId)
        .where('agent_id', '=', agentId)
        .executeTakeFirst(),
    );
    return agent !== undefined;
  }

  /** Returns undefined for a run that has not reported yet. */
  async agentOf(tenantId: string, runId: string): Promise<string | undefined> {
    const run = await this.reads.read(tenantId, (db) =>
      db
        .selectFrom('runs')
        .select('agent_id')
        .where('tenant_id', '=', tenantId)
        .where('run_id', '=', runId)
        .executeTakeFirst(),
    );
    return run?.agent_id;
  }
}

function pageRows(db: ReadOnly, tenantId: string, filter: ControlFilter) {
  const { scopeId = filter.id } = filter;
  let query = db.selectFrom('control_orders').selectAll().where('tenant_id', '=', tenantId);
  if (filter.scope !== undefined) query = query.where('scope', 'in', filter.scope);
  if (scopeId !== undefined) query = query.where('scope_id', '=', scopeId);
  if (filter.state !== undefined) query = query.where('state', 'in', filter.state);
  if (filter.cursor !== undefined) {
    const place = sql`(${filter.cursor.at}::timestamptz, ${filter.cursor.id})`;
    query = query.where(sql<boolean>`(issued_at, order_id) < ${place}`);
  }
  return query
    .orderBy('issued_at', 'desc')
    .orderBy('order_id', 'desc')
    .limit(filter.limit + 1)
    .offset(filter.offset)
    .execute();
}

async function acknowledgementRows(db: ReadOnly, tenantId: string, orderIds: readonly string[]) {
  if (orderIds.length === 0) return [];
  return db
    .selectFrom('control_acknowledgements')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .where('directive_id', 'in', orderIds)
    .execute();
}
