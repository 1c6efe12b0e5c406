import type { ControlOrder } from '@agentlens/contracts';
import type { Selectable } from 'kysely';
import type { ControlOrdersTable } from '../schema/tables.ts';

/** An order as its row says it, for its writer and its readers. */
export function orderFromRow(row: Selectable<ControlOrdersTable>): ControlOrder {
  return {
    id: row.order_id,
    tenantId: row.tenant_id,
    scope: row.scope,
    scopeId: row.scope_id,
    agentId: row.agent_id ?? undefined,
    state: row.state,
    reason: row.reason,
    by: row.ordered_by,
    version: row.version,
    issuedAt: row.issued_at,
  };
}
