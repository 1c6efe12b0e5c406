import type { Budget } from '@agentlens/contracts';
import { budgetFromRow } from '@agentlens/database';
import { BUDGETS_LIST, type BudgetFilter } from '@agentlens/operations';
import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { type Page, pageOf } from '../http/page.ts';
import { type ReadOnly, TenantReads } from '../http/tenant-reads.ts';

@Injectable()
export class BudgetsQueries {
  constructor(private readonly reads: TenantReads) {}

  async list(tenantId: string, filter: BudgetFilter): Promise<Page<Budget>> {
    const rows = await this.reads.read(tenantId, (db) => pageRows(db, tenantId, filter));
    return pageOf(
      BUDGETS_LIST,
      rows,
      filter.limit,
      (row) => ({ at: row.created_at, id: row.budget_id }),
      budgetFromRow,
    );
  }

  async get(tenantId: string, budgetId: string): Promise<Budget | undefined> {
    const row = await this.reads.read(tenantId, (db) =>
      db
        .selectFrom('budgets')
        .selectAll()
        .where('tenant_id', '=', tenantId)
        .where('budget_id', '=', budgetId)
        .where('deleted_at', 'is', null)
        .executeTakeFirst(),
    );
    return row && budgetFromRow(row);
  }
}

function pageRows(db: ReadOnly, tenantId: string, filter: BudgetFilter) {
  let query = db.selectFrom('budgets').selectAll().where('tenant_id', '=', tenantId).where('deleted_at', 'is', null);
  if (filter.scope !== undefined) query = query.where('scope', 'in', filter.scope);
  if (filter.scopeId !== undefined) query = query.where('scope_id', '=', filter.scopeId);
  if (filter.enabled !== undefined) query = query.where('enabled', '=', filter.enabled);
  if (filter.cursor !== undefined) {
    const place = sql`(${filter.cursor.at}::timestamptz, ${filter.cursor.id})`;
    query = query.where(sql<boolean>`(created_at, budget_id) < ${place}`);
  }
  return query
    .orderBy('created_at', 'desc')
    .orderBy('budget_id', 'desc')
    .limit(filter.limit + 1)
    .offset(filter.offset)
    .execute();
}
