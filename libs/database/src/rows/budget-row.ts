import type { Budget } from '@agentlens/contracts';
import type { Selectable } from 'kysely';
import type { BudgetsTable } from '../schema/tables.ts';

/** A budget as its row says it, for its writer and its readers. */
export function budgetFromRow(row: Selectable<BudgetsTable>): Budget {
  return {
    id: row.budget_id,
    tenantId: row.tenant_id,
    name: row.name,
    scope: row.scope,
    ...(row.scope_id === null ? {} : { scopeId: row.scope_id }),
    period: row.period,
    limitUsd: row.limit_usd,
    enabled: row.enabled,
    onUnavailable: row.on_unavailable,
    version: row.version,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  };
}
